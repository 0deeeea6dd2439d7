"""A small language pair that the tests make: adjectives change sides, as between English and French."""

from __future__ import annotations

import itertools

import numpy as np

ARTICLES = {"a": "une", "the": "la"}
ADJECTIVES = {"red": "rouge", "small": "petite", "old": "vieille", "green": "verte", "happy": "heureuse"}
NOUNS = {"house": "maison", "table": "table", "car": "voiture", "woman": "femme", "street": "rue", "cat": "chatte"}
VERBS = {"sees": "voit", "wants": "veut", "has": "a", "loves": "aime"}


def phrases() -> list[tuple[str, str]]:
    """Each article + adjective + noun, with its translation."""
    return [
        (f"{a} {adjective} {n}", f"{ARTICLES[a]} {NOUNS[n]} {ADJECTIVES[adjective]}")
        for a, adjective, n in itertools.product(ARTICLES, ADJECTIVES, NOUNS)
    ]


def pairs() -> list[tuple[str, str]]:
    """900 times phrase + verb + phrase, drawn evenly, always the same ones."""
    every, verbs = phrases(), list(VERBS.items())
    draws = np.random.default_rng(0).integers([len(every), len(verbs), len(every)], size=(900, 3))
    drawn = [(every[subject], verbs[verb], every[thing]) for subject, verb, thing in draws]
    return [(f"{s[0]} {v[0]} {o[0]}", f"{s[1]} {v[1]} {o[1]}") for s, v, o in drawn]


GOLD = "0p0 1-2 2-1 3p3 4p4 5-6 6-5"  # the same for every pair; sure of the nouns and adjectives


def tsv(rows: list[tuple[str, str]]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in rows)
