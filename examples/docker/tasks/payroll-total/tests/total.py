from fractions import Fraction

HOURS_AND_RATES = [
    ("160.5", "31.25"),
    ("152.5", "28.33"),
    ("140.5", "30.01"),
    ("161.5", "27.15"),
    ("98.5", "33.33"),
    ("120.5", "29.07"),
]
# Python's round() goes to the even neighbour.
cents = sum(round(Fraction(hours) * Fraction(rate) * 100) for hours, rate in HOURS_AND_RATES)
print(f"{cents // 100}.{cents % 100:02}")
