/* Random Briskola games as a C programmer would write them: the yardstick of `kibitz bench`.
 *
 * The same rules, the same generator and the same layout of the position as
 * src/kibitz/games/briskola/rules.py, any number of seats from 2 to 4, one thread. For one seed it
 * plays exactly the games that Kibitz plays, so the two totals must agree; `kibitz bench` checks.
 *
 *     cc -O3 -march=native -o briskola_playout briskola_playout.c
 *     ./briskola_playout SEATS GAMES STREAM      prints: seconds, then the points of each seat
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CARDS = 40, RANKS = 10, HAND = 3, BLANK = -1 };

static const int POINTS[CARDS] = {
    0, 0, 0, 0, 0, 2, 3, 4, 10, 11, 0, 0, 0, 0, 0, 2, 3, 4, 10, 11,
    0, 0, 0, 0, 0, 2, 3, 4, 10, 11, 0, 0, 0, 0, 0, 2, 3, 4, 10, 11};

typedef struct {
    int64_t played;
    int16_t points[4];
    int8_t hands[4][HAND], held[4], table[4];
    int8_t on_table, best, winning, turn, trump, turned, left;
    int8_t stock[CARDS];
} State;

static inline uint64_t next_word(uint64_t *rng) {
    uint64_t z = (*rng += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int below(uint64_t *rng, uint64_t n) {
    return (int)(((next_word(rng) >> 32) * n) >> 32);
}

static inline void draw(State *s, int seat) {
    int top = s->left - 1;
    s->hands[seat][s->held[seat]++] = s->stock[top];
    s->stock[top] = BLANK;
    s->left = top;
}

static void deal(State *s, int seats, uint64_t *rng) {
    int first = seats == 3, n = CARDS - first;
    for (int i = 0; i < n; i++) {
        int j = below(rng, i + 1);
        s->stock[i] = s->stock[j];
        s->stock[j] = first + i;
    }
    s->left = n;
    for (int seat = 0; seat < 4; seat++) {
        s->points[seat] = 0;
        s->held[seat] = 0;
        s->table[seat] = BLANK;
        for (int i = 0; i < HAND; i++) s->hands[seat][i] = BLANK;
    }
    for (int i = 0; i < HAND; i++)
        for (int seat = 0; seat < seats; seat++) draw(s, seat);
    for (int i = n; i < CARDS; i++) s->stock[i] = BLANK;
    s->turned = s->stock[0];
    s->trump = s->turned / RANKS;
    s->played = 0;
    s->on_table = s->winning = s->turn = 0;
    s->best = BLANK;
}

static inline int beats(int card, int best, int trump) {
    if (card / RANKS == best / RANKS) return card > best;
    return card / RANKS == trump;
}

static inline int next_seat(int seat, int seats) { return seat + 1 < seats ? seat + 1 : 0; }

static void finish_trick(State *s, int seats) {
    int winner = s->winning;
    for (int i = 0; i < seats; i++) {
        s->points[winner] += POINTS[s->table[i]];
        s->table[i] = BLANK;
    }
    s->on_table = 0;
    s->best = BLANK;
    s->turn = winner;
    if (s->left > 0)
        for (int i = 0, seat = winner; i < seats; i++, seat = next_seat(seat, seats)) draw(s, seat);
}

static void play(State *s, int seats, int card) {
    int seat = s->turn, last = s->held[seat] - 1;
    int8_t last_card = s->hands[seat][last];
    for (int i = 0; i < last; i++) {
        int8_t held = s->hands[seat][i];
        s->hands[seat][i] = held == card ? last_card : held;
    }
    s->hands[seat][last] = BLANK;
    s->held[seat] = last;
    s->played |= (int64_t)1 << card;
    int takes = s->on_table == 0 || beats(card, s->best, s->trump);
    s->best = takes ? card : s->best;
    s->winning = takes ? seat : s->winning;
    s->table[s->on_table++] = card;
    if (s->on_table < seats)
        s->turn = next_seat(seat, seats);
    else
        finish_trick(s, seats);
}

static inline int is_over(const State *s) {
    return s->held[s->turn] == 0 && s->on_table == 0 && s->played != 0;
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s SEATS GAMES STREAM\n", argv[0]);
        return 2;
    }
    int seats = atoi(argv[1]);
    long games = atol(argv[2]);
    uint64_t rng = strtoull(argv[3], NULL, 10);
    int64_t totals[4] = {0, 0, 0, 0};
    State s = {0};
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (long g = 0; g < games; g++) {
        deal(&s, seats, &rng);
        while (!is_over(&s)) {
            int seat = s.turn;
            play(&s, seats, s.hands[seat][below(&rng, s.held[seat])]);
        }
        for (int seat = 0; seat < seats; seat++)
            totals[seat] += s.points[seat] + (seats == 4 ? s.points[(seat + 2) % 4] : 0);
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%.9f", (ended.tv_sec - began.tv_sec) + (ended.tv_nsec - began.tv_nsec) * 1e-9);
    for (int seat = 0; seat < seats; seat++) printf(" %lld", (long long)totals[seat]);
    printf("\n");
    return 0;
}
