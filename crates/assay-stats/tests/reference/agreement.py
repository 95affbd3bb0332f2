"""Writes agreement.json: Cohen's kappa by scikit-learn, Krippendorff's nominal alpha by krippendorff (both from PyPI), on random ratings."""
import json, random, warnings
from importlib.metadata import version
import krippendorff, numpy
from sklearn.metrics import cohen_kappa_score

warnings.simplefilter("ignore")
r = random.Random(5)
cases = []
for _ in range(60):
    raters, items, categories = r.randint(2, 4), r.randint(3, 30), r.randint(2, 4)
    missing, agree = r.choice([0, 0, .2, .5]), r.random()
    rated = []
    for _ in range(items):
        truth = r.randrange(categories)
        rated.append([None if r.random() < missing else truth if r.random() < agree else r.randrange(categories) for _ in range(raters)])
    kappas = []
    for a in range(raters):
        for b in range(a + 1, raters):
            both = [(i[a], i[b]) for i in rated if i[a] is not None and i[b] is not None]
            k = cohen_kappa_score(*zip(*both)) if both else float("nan")
            kappas.append(None if k != k else float(k))
    try:
        data = numpy.array([[numpy.nan if v is None else v for v in row] for row in zip(*rated)], dtype=float)
        a = float(krippendorff.alpha(reliability_data=data, level_of_measurement="nominal"))
    except ValueError:
        a = None
    cases.append({"items": rated, "kappas": kappas, "alpha": a if a == a else None})
print(json.dumps({"scikit-learn": version("scikit-learn"), "krippendorff": version("krippendorff"), "cases": cases}, separators=(",", ":")).replace('},{"items', '},\n{"items'))
