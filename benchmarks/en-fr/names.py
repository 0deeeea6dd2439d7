"""python names.py > names.tsv: sentences with made-up names of institutions, such as "the Nordic Monetary Fund".

The corpora hold few names of this form, in which French has the words in the opposite order: "le Fonds monétaire
nordique". Each is a place, a field and a body from the lists below, in a sentence of the frames below. "European
Economic Area" is left out, and so are August and "the agreement ... was signed": the parts are learned, but not what a
translator makes of that sentence of Bahdanau et al. 2015.
"""

import random
from itertools import product
from typing import NamedTuple

SENTENCES = 6000
HELD_OUT = ("European", "Economic", "Area")


class Adjective(NamedTuple):
    """An English adjective, and the French one beside a masculine and a feminine noun."""

    english: str
    masculine: str
    feminine: str


class Body(NamedTuple):
    """An English noun, and the French one with its article."""

    english: str
    article: str
    french: str
    feminine: bool


PLACES = [
    Adjective("European", "européen", "européenne"),
    Adjective("African", "africain", "africaine"),
    Adjective("American", "américain", "américaine"),
    Adjective("Asian", "asiatique", "asiatique"),
    Adjective("Atlantic", "atlantique", "atlantique"),
    Adjective("Canadian", "canadien", "canadienne"),
    Adjective("French", "français", "française"),
    Adjective("International", "international", "internationale"),
    Adjective("Mediterranean", "méditerranéen", "méditerranéenne"),
    Adjective("National", "national", "nationale"),
    Adjective("Nordic", "nordique", "nordique"),
    Adjective("Swiss", "suisse", "suisse"),
]
FIELDS = [
    Adjective("Economic", "économique", "économique"),
    Adjective("Agricultural", "agricole", "agricole"),
    Adjective("Commercial", "commercial", "commerciale"),
    Adjective("Cultural", "culturel", "culturelle"),
    Adjective("Financial", "financier", "financière"),
    Adjective("Industrial", "industriel", "industrielle"),
    Adjective("Medical", "médical", "médicale"),
    Adjective("Military", "militaire", "militaire"),
    Adjective("Monetary", "monétaire", "monétaire"),
    Adjective("Political", "politique", "politique"),
    Adjective("Scientific", "scientifique", "scientifique"),
    Adjective("Social", "social", "sociale"),
    Adjective("Technical", "technique", "technique"),
]
BODIES = [
    Body("Area", "la ", "Zone", True),
    Body("Agency", "l'", "Agence", True),
    Body("Alliance", "l'", "Alliance", True),
    Body("Commission", "la ", "Commission", True),
    Body("Committee", "le ", "Comité", False),
    Body("Community", "la ", "Communauté", True),
    Body("Conference", "la ", "Conférence", True),
    Body("Council", "le ", "Conseil", False),
    Body("Fund", "le ", "Fonds", False),
    Body("Institute", "l'", "Institut", False),
    Body("Market", "le ", "Marché", False),
    Body("Organization", "l'", "Organisation", True),
    Body("Program", "le ", "Programme", False),
    Body("Union", "l'", "Union", True),
]
FRAMES = [
    ("The {name} is very important.", "{le nom} est très important{e}."),
    ("Canada supports the {name}.", "Le Canada appuie {le nom}."),
    ("We want to know more about the {name}.", "Nous voulons en savoir plus sur {le nom}."),
    ("The treaty on the {name} dates from {year}.", "Le traité sur {le nom} date de {year}."),
    ("The debate on the {name} began in {year}.", "Le débat sur {le nom} a commencé en {year}."),
    ("He spoke about the {name} in {month} {year}.", "Il a parlé {du nom} en {mois} {year}."),
    ("The members of the {name} met in {month}.", "Les membres {du nom} se sont réunis en {mois}."),
    ("The report of the {name} was published in {year}.", "Le rapport {du nom} a été publié en {year}."),
    ("Our country joined the {name} in {month} {year}.", "Notre pays a rejoint {le nom} en {mois} {year}."),
    ("What does the minister think of the {name}?", "Que pense le ministre {du nom} ?"),
    ("I have a question about the {name}.", "J'ai une question sur {le nom}."),
    ("They met with the {name} yesterday.", "Ils ont rencontré {le nom} hier."),
    ("The law on the {name} was adopted in {year}.", "La loi sur {le nom} a été adoptée en {year}."),
    ("Mr. Speaker, the {name} needs our help.", "Monsieur le Président, {le nom} a besoin de notre aide."),
]
MONTHS = {
    "January": "janvier",
    "February": "février",
    "March": "mars",
    "April": "avril",
    "May": "mai",
    "June": "juin",
    "July": "juillet",
    "September": "septembre",
    "October": "octobre",
    "November": "novembre",
    "December": "décembre",
}


def sentence(place: Adjective, field: Adjective, body: Body, chance: random.Random) -> str:
    """A sentence pair about one institution, as a line of a TSV file."""
    name = f"{place.english} {field.english} {body.english}"
    field_fr, place_fr = (field.feminine, place.feminine) if body.feminine else (field.masculine, place.masculine)
    first = body.french if body.article == "l'" or chance.random() < 0.5 else body.french.lower()
    nom = f"{first} {field_fr} {place_fr}"
    english, french = chance.choice(FRAMES)
    month, year = chance.choice(list(MONTHS)), str(chance.randrange(1960, 2000))
    known = {"name": name, "month": month, "year": year, "mois": MONTHS[month], "e": "e" * body.feminine}
    known["le nom"] = f"{body.article}{nom}"
    known["du nom"] = f"du {nom}" if body.article == "le " else f"de {body.article}{nom}"
    french = french.format(**known)
    return f"{english.format(**known)}\t{french[0].upper()}{french[1:]}"


if __name__ == "__main__":
    chance = random.Random(6)
    every = product(PLACES, FIELDS, BODIES)
    names = [parts for parts in every if tuple(part.english for part in parts) != HELD_OUT]
    for _ in range(SENTENCES):
        print(sentence(*chance.choice(names), chance))
