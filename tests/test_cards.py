"""Cards as people write them."""

import pytest

from kibitz.cards import ITALIAN, Deck
from kibitz.errors import ParseError

ALL = range(ITALIAN.size)


def test_forty_cards():
    assert ITALIAN.size == 40
    assert len({ITALIAN.text(card) for card in ALL}) == len({ITALIAN.name(card) for card in ALL}) == 40


@pytest.mark.parametrize("card", ALL)
def test_round_trip(card):
    assert ITALIAN.parse(ITALIAN.text(card)) == card
    assert ITALIAN.parse(ITALIAN.name(card)) == card


@pytest.mark.parametrize("card", ALL)
def test_every_spelling_of_rank_and_suit(card):
    suit, rank = divmod(card, 10)
    for rank_word in ITALIAN.ranks[rank]:
        for suit_word in ITALIAN.suits[suit]:
            for text in (
                f"{rank_word} {suit_word}",
                f"{rank_word} di {suit_word}",
                f"{rank_word}-{suit_word}",
            ):
                assert ITALIAN.parse(text) == card, text
            if len(suit_word) == 1 or rank_word.isdigit():
                assert ITALIAN.parse(rank_word + suit_word) == card, rank_word + suit_word


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("asso di coppe", "1C"),
        ("Asso Di Coppe", "1C"),
        ("  1   c ", "1C"),
        ("1c", "1C"),
        ("a of cups", "1C"),
        ("Ace of Cups", "1C"),
        ("tre spade", "3S"),
        ("re di denari", "13D"),
        ("RÈ DI DENARI", "13D"),
        ("kralj dinari", "13D"),
        ("10 d", "13D"),
        ("10D", "13D"),
        ("kd", "13D"),
        ("9 bastoni", "12B"),
        ("cavallo di bastoni", "12B"),
        ("knight of clubs", "12B"),
        ("8s", "11S"),
        ("fànte di spade", "11S"),
        ("jack of swords", "11S"),
        ("cc", "12C"),
        ("fanat kupe", "11C"),
        ("7/B", "7B"),
        ("2_c", "2C"),
        ("due di ori", "2D"),
    ],
)
def test_what_people_write(text, means):
    assert ITALIAN.text(ITALIAN.parse(text)) == means


@pytest.mark.parametrize(
    "text",
    ["", " ", "1", "c", "14C", "0C", "1X", "asso", "di", "asso di cuori", "1C 2C", "-1", "♥", "1 1 C"],
)
def test_what_is_no_card_is_refused_with_an_example(text):
    with pytest.raises(ParseError) as refused:
        ITALIAN.parse(text)
    message = str(refused.value)
    assert message.startswith(f"'{text}' is not a card")
    assert "'1B' or 'asso di bastoni'" in message
    assert "13 re" in message
    assert "s spade" in message


def test_a_deck_of_ones_own():
    deck = Deck(
        suits=(("h", "hearts"), ("s", "spades")), ranks=(("9", "nine"), ("A", "ace", "a")), joiner="of"
    )
    assert deck.text(3) == "AS"
    assert deck.name(1) == "ace of hearts"
    assert [deck.parse(text) for text in ("9h", "Ace of Hearts", "nine spades", "as")] == [0, 1, 2, 3]
