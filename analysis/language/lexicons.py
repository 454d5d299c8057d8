"""The closed word lists of entity extraction: what no statistical model has to guess.

Lemmas in lower case. They are short on purpose: a list is for words that mean the same wherever they stand.
"""

from __future__ import annotations

__all__ = [
    "CLASSIFYING",
    "GENERIC",
    "LEMMAS",
    "NEGATIVE",
    "NOT_CLASSIFYING",
    "POLITENESS",
    "POSITIVE",
    "TECHNICAL",
    "UNITS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNITS = _words(
    """
    metre meter centimetre centimeter millimetre millimeter kilometre kilometer inch foot yard mile cm mm km
    gram kilogram kilo milligram tonne ton pound ounce kg mg lb oz litre liter millilitre milliliter gallon ml
    second millisecond minute hour day week month quarter year decade century ms sec min hr
    byte kilobyte megabyte gigabyte terabyte kb mb gb tb bit pixel px fps hertz hz khz mhz ghz
    degree celsius fahrenheit kelvin radian volt watt kilowatt ampere ohm joule calorie kcal newton pascal
    percent percentage dollar cent euro pound sterling yen acre hectare parsec
    """
)
"""Measuring units, written out and abbreviated."""

POSITIVE = _words(
    """
    admire adore amaze amazing appreciate awesome beautiful brilliant calm celebrate cheerful confident content curious
    delight delighted delightful eager ecstatic elated enjoy enjoyable enthusiasm enthusiastic excellent excite excited
    exciting fantastic fond fun glad grateful gratitude happiness happy hope hopeful inspire inspiring joy joyful
    laugh love lovely marvellous passion passionate pleasant pleased pleasure pride proud relief satisfied satisfying
    smile superb terrific thankful thrill thrilled thrilling trust wonderful
    """
)
"""Words of positive emotion."""

NEGATIVE = _words(
    """
    afraid anger angry annoy annoyed annoying anxiety anxious ashamed awful bitter bore bored boring confuse confused
    confusing cry despair desperate disappoint disappointed disappointing disappointment disaster disgrace disgraceful
    disgust disgusted disgusting dread embarrass embarrassed embarrassing fear fearful frighten frightened frustrate
    frustrated frustrating frustration furious grief guilty hate hatred helpless hopeless horrible horrify hostile hurt
    irritate irritated jealous lonely mad miserable nervous nightmare overwhelm overwhelmed painful panic pity rage
    regret resent sad sadness scare scared scary shame shock shocked sorrow stress stressed stressful terrible terrified
    terrify tired ugly unhappy upset worried worry
    """
)
"""Words of negative emotion."""

POLITENESS: dict[tuple[str, ...], str] = {
    ("please",): "please",
    ("kindly",): "kindly",
    ("thanks",): "thank you",
    ("thank", "you"): "thank you",
    ("thank",): "thank you",
    ("sorry",): "sorry",
    ("pardon",): "pardon",
    ("excuse", "me"): "excuse me",
    ("could", "you"): "could you",
    ("would", "you"): "would you",
    ("can", "you"): "can you",
    ("will", "you"): "will you",
    ("would", "you", "mind"): "would you mind",
    ("if", "you", "could"): "if you could",
    ("if", "you", "can"): "if you can",
    ("if", "possible"): "if possible",
    ("i", "would", "like"): "i would like",
    ("i", "'d", "like"): "i would like",
    ("i", "’d", "like"): "i would like",
    ("i", "'d", "love"): "i would love",
    ("i", "’d", "love"): "i would love",
    ("i", "would", "love"): "i would love",
    ("i", "would", "appreciate"): "i would appreciate",
    ("i", "'d", "appreciate"): "i would appreciate",
    ("i", "was", "wondering"): "i was wondering",
    ("good", "morning"): "good morning",
    ("good", "evening"): "good evening",
    ("hello",): "hello",
    ("sir",): "sir",
    ("madam",): "madam",
}
"""Phrases of politeness, by their words as spaCy separates them, and the entity that they count as."""

TECHNICAL = _words(
    """
    python java javascript typescript kotlin swift ruby perl php rust go golang scala haskell matlab fortran julia cobol
    html css sql json xml yaml csv tsv pdf http https rest restful graphql grpc api sdk cli gui ui ux url uri ide crud
    orm jwt oauth ssl tls ssh ftp tcp udp cpu gpu ram aws gcp azure saas utf-8 ascii unicode regex latex markdown
    numpy pandas scipy matplotlib seaborn sklearn scikit-learn tensorflow pytorch keras jupyter tkinter pygame qt
    flask django fastapi spring rails react angular vue svelte node node.js express pytest unittest astropy
    postgresql postgres mysql sqlite mongodb redis kafka rabbitmq elasticsearch oracle docker kubernetes terraform
    linux unix windows macos android ios git github gitlab jenkins bash powershell vba excel word powerpoint outlook
    access chrome firefox tetris lego blokus atm lstm cnn rnn svm pca k-means aes rsa dfs bfs etl oop mvc solid
    """
)
"""Names of languages, formats, protocols, libraries and products: keywords, whatever a model of news takes them for."""

PLAIN_TOO = _words(
    "word access excel outlook go rust swift spring rails express oracle windows solid rest node react angular edge"
)
"""Those of `TECHNICAL` that are plain words as well: a product only where a capital says so."""

GENERIC = _words(
    """
    thing something anything everything nothing someone anyone everyone somebody anybody everybody nobody
    way lot lots kind sort type bit piece part rest number amount couple bunch plenty variety range set
    one other others case example instance fact point sense matter reason idea stuff side end start beginning
    time moment today tomorrow yesterday tonight etc e.g. i.e. et al fig mr mrs ms dr
    """
)
"""Nouns that name nothing by themselves; no keyword unless a noun or a classifying adjective goes with them."""

CLASSIFYING = _words(
    """
    convex regular open binary middle private public foreign nuclear military social virtual real-time online mobile
    deep big quantum prime natural machine hash max min least shortest interactive recursive static
    """
)
"""Adjectives that make a term with their noun (convex hull, public key), besides those told by their ending."""

NOT_CLASSIFYING = _words(
    """
    additional actual basic critical crucial dramatic essential exceptional fantastic final full functional general
    ideal individual initial integral local main manual minimal normal optional original overall particular personal
    popular possible potential practical primary principal professional real similar singular small special specific
    substantial successful terrific several total traditional typical unusual usual useful helpful careful powerful
    beautiful wonderful successful meaningful graceful unfamiliar familiar peculiar horrific tragic logical rational
    magical equal central vital partial official continual casual simplistic realistic optimistic pessimistic
    enthusiastic robotic automatic systematic strategic generic characteristic sporadic comprehensive
    """
)
"""Adjectives with the ending of a classifying one that only describe."""

LEMMAS = {"data": "data", "media": "media", "taxes": "tax", "maths": "maths", "news": "news"}
"""Lemmas of words of which spaCy's rules make something that nobody says (datum, medium, taxis)."""
