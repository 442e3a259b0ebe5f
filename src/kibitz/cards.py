"""Decks: one encoding of cards for all games, and the texts that people use for them.

A card is an integer, `suit * ranks + rank`, with the ranks of a game ordered from weakest to
strongest; a set of cards is an `int64` mask. Suits, ranks and their names live here and nowhere
else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from kibitz.errors import ParseError, quoted


@dataclass(frozen=True)
class Deck:
    """Suits and ranks with all the names that people give them.

    Each entry lists the spellings of one suit or rank, the one to print first.

    >>> ITALIAN.text(9), ITALIAN.name(9)
    ('1C', 'asso di coppe')
    >>> ITALIAN.parse("re di denari") == ITALIAN.parse("13D") == ITALIAN.parse("10 d")
    True
    """

    suits: tuple[tuple[str, ...], ...]
    ranks: tuple[tuple[str, ...], ...]
    joiner: str
    """The word between rank and suit in a full name."""

    @property
    def size(self) -> int:
        return len(self.suits) * len(self.ranks)

    def text(self, card: int) -> str:
        """The short text of a card."""
        suit, rank = divmod(int(card), len(self.ranks))
        return self.ranks[rank][0] + self.suits[suit][0].upper()

    def name(self, card: int) -> str:
        """The full name of a card."""
        suit, rank = divmod(int(card), len(self.ranks))
        return f"{self.ranks[rank][1]} {self.joiner} {self.suits[suit][1]}"

    def parse(self, text: str) -> int:
        """The card that people mean by `text`, short or long, in any case, with or without accents."""
        words = [word for word in re.findall(r"[0-9]+|[a-z]+", _plain(text[:_LONGEST])) if word not in _OF]
        if len(words) == 1:  # rank and suit in one word: "kc", "asb"
            words = [words[0][:-1], words[0][-1:]]
        if len(words) == 2 and len(text) <= _LONGEST:
            rank, suit = _find(words[0], self.ranks), _find(words[1], self.suits)
            if rank is not None and suit is not None:
                return suit * len(self.ranks) + rank
        raise ParseError(
            f"{quoted(text)} is not a card; write rank and suit, such as "
            f"'{self.text(self.size - 1)}' or '{self.name(self.size - 1)}' "
            f"(ranks {_list(self.ranks)}; suits {_list(self.suits)})"
        )


_LONGEST = 100
"""Letters of a card in words, and more: to take the accents off a long text can take very long."""
_OF = {"di", "of", "od", "de"}


def _plain(text: str) -> str:
    """Lower case without accents."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def _find(word: str, spellings: tuple[tuple[str, ...], ...]) -> int | None:
    for number, words in enumerate(spellings):
        if word in words:
            return number
    return None


def _list(spellings: Iterable[tuple[str, ...]]) -> str:
    return ", ".join(f"{words[0]} {words[1]}" for words in spellings)


ITALIAN = Deck(
    suits=(
        ("c", "coppe", "coppa", "kupe", "kupa", "cups"),
        ("d", "denari", "denaro", "dinari", "ori", "coins"),
        ("s", "spade", "spada", "swords"),
        ("b", "bastoni", "bastone", "bastoni", "clubs", "batons"),
    ),
    # From weakest to strongest in Briškola. Figures are 11, 12, 13 on Triestine cards and
    # 8, 9, 10 on others, which have no cards of these numbers.
    ranks=(
        ("2", "due", "two"),
        ("4", "quattro", "four"),
        ("5", "cinque", "five"),
        ("6", "sei", "six"),
        ("7", "sette", "seven"),
        ("11", "fante", "8", "f", "jack", "j", "fanat"),
        ("12", "cavallo", "9", "c", "q", "knight", "horse", "kavalo", "konj"),
        ("13", "re", "10", "r", "k", "king", "kralj"),
        ("3", "tre", "three"),
        ("1", "asso", "a", "ace", "as"),
    ),
    joiner="di",
)

FRENCH = Deck(
    suits=(
        ("c", "clubs", "club", "klaveren"),
        ("d", "diamonds", "diamond", "ruiten"),
        ("h", "hearts", "heart", "harten"),
        ("s", "spades", "spade", "schoppen"),
    ),
    ranks=(
        *((str(n), word) for n, word in enumerate(("two", "three", "four", "five", "six", "seven"), 2)),
        *(("8", "eight"), ("9", "nine"), ("10", "ten", "t"), ("J", "jack", "j"), ("Q", "queen", "q")),
        *(("K", "king", "k"), ("A", "ace", "a", "1")),
    ),
    joiner="of",
)
