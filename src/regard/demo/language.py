"""Generated sentences in two small languages: adjectives change sides, as between English and French."""

from __future__ import annotations

import numpy as np

NOUNS = dict(
    word.split(":")
    for word in (
        "car:voiture house:maison table:table door:porte flower:fleur chair:chaise window:fenêtre mountain:montagne "
        "key:clé city:ville lamp:lampe apple:pomme pear:poire queen:reine letter:lettre hand:main leaf:feuille "
        "road:route bottle:bouteille cat:chatte"
    ).split()
)
ADJECTIVES = dict(
    word.split(":")
    for word in (
        "red:rouge green:verte white:blanche black:noire round:ronde heavy:lourde cold:froide warm:chaude blue:bleue "
        "yellow:jaune"
    ).split()
)
LINKS = {"and": "et", "or": "ou", "with": "avec", "under": "sous"}
MOST = 10  # phrases in a sentence: up to 39 words


def sentences(generator: np.random.Generator, count: int, most: int = MOST) -> list[tuple[str, str]]:
    """Pairs of 1 to ``most`` phrases, each an article, an adjective and a noun; no noun comes twice.

    >>> sentences(np.random.default_rng(3), 1, most=2)
    [('the blue page under the dark hand', 'la page bleue sous la main sombre')]
    """
    return [_sentence(generator, 1 + int(most * generator.random() ** 2)) for _ in range(count)]


def _sentence(generator: np.random.Generator, phrases: int) -> tuple[str, str]:
    nouns, adjectives, links = list(NOUNS), list(ADJECTIVES), list(LINKS)
    source: list[str] = []
    target: list[str] = []
    for place, noun in enumerate(generator.permutation(len(nouns))[:phrases]):
        if place:
            link = links[generator.integers(len(links))]
            source.append(link)
            target.append(LINKS[link])
        adjective = adjectives[generator.integers(len(adjectives))]
        source += ["the", adjective, nouns[noun]]
        target += ["la", NOUNS[nouns[noun]], ADJECTIVES[adjective]]
    return " ".join(source), " ".join(target)
