"""Generated sentences in two small languages: adjectives change sides, as between English and French."""

from __future__ import annotations

import numpy as np

NOUNS = {
    "car": "voiture", "house": "maison", "table": "table", "door": "porte", "flower": "fleur", "window": "fenêtre",
    "mountain": "montagne", "lamp": "lampe", "apple": "pomme", "queen": "reine", "letter": "lettre", "cat": "chatte",
}  # fmt: skip
ADJECTIVES = {"red": "rouge", "green": "verte", "white": "blanche", "black": "noire", "round": "ronde", "blue": "bleue"}
LINKS = {"and": "et", "with": "avec", "under": "sous"}
MOST = 10  # phrases in a sentence: up to 39 words


def sentences(generator: np.random.Generator, count: int) -> list[tuple[str, str]]:
    """Pairs of 1 to ``MOST`` phrases, short ones more often, as in most texts.

    >>> sentences(np.random.default_rng(8), 1)
    [('the white cat with the white car', 'la chatte blanche avec la voiture blanche')]
    """
    return [_sentence(generator, 1 + int(MOST * generator.random() ** 2)) for _ in range(count)]


def pairs_of_each_length(generator: np.random.Generator, count: int) -> list[tuple[str, str]]:
    """Pairs of 1, 2, … ``MOST`` phrases in turn."""
    return [_sentence(generator, 1 + number % MOST) for number in range(count)]


def _sentence(generator: np.random.Generator, phrases: int) -> tuple[str, str]:
    """Each phrase an article, an adjective and a noun; no noun comes twice."""
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
