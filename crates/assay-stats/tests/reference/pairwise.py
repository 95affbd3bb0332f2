"""Writes pairwise.json: logistic regressions by statsmodels (GLM, binomial), their cluster jackknife linearised by numpy, on random pairs."""
import json, random
from importlib.metadata import version
import numpy as np, statsmodels.api as sm
from scipy.stats import t as student

r = random.Random(11)
cases = []
while len(cases) < 40:
    k, size, ties = r.randint(10, 40), r.randint(1, 4), r.choice([0, 0.2, 0.5])
    alpha, phi, clustered = r.uniform(-1, 1), r.uniform(-1.5, 2), r.random() < 0.6
    rows = []
    for c in range(k):
        common = r.gauss(0, 200)
        for _ in range(r.randint(1, size)):
            d = round(common + r.gauss(50, 300))
            y = 0.5 if r.random() < ties else float(r.random() < 1 / (1 + np.exp(-alpha - phi * np.tanh(d / 350))))
            rows.append([d, y, c if clustered else None])
    d, y = np.array([row[0] for row in rows], float), np.array([row[1] for row in rows])
    groups = np.array([c for _, _, c in rows]) if clustered else np.arange(len(rows))
    x = np.tanh(d / d.std(ddof=1))
    if len(set(groups)) < 10 or (y != 0.5).sum() < 10 or min(y.sum(), (1 - y).sum()) < 5:
        continue
    if x[y > 0].max() <= x[y < 1].min() or x[y < 1].max() <= x[y > 0].min():
        continue
    design = sm.add_constant(x)
    fit = sm.GLM(y, design, family=sm.families.Binomial()).fit(tol=1e-14, maxiter=200)
    p = fit.predict()
    information = (design * (p * (1 - p))[:, None]).T @ design
    labels = sorted(set(groups))
    v = np.zeros((2, 2))
    for g in labels:
        own = design[groups == g]
        w, e = (p * (1 - p))[groups == g], (y - p)[groups == g]
        moved = np.linalg.solve(information - (own * w[:, None]).T @ own, own.T @ e)
        v += np.outer(moved, moved)
    v *= (len(labels) - 1) / len(labels)
    half = student.ppf(0.975, len(labels) - 1) * np.sqrt(np.diag(v))
    logistic = lambda z: float(1 / (1 + np.exp(-z)))
    a, b = map(float, fit.params)
    cases.append({"rows": rows, "win_rate": [logistic(a), logistic(a - half[0]), logistic(a + half[0])], "coefficient": [b, b - float(half[1]), b + float(half[1])]})
print(json.dumps({"statsmodels": version("statsmodels"), "numpy": version("numpy"), "scipy": version("scipy"), "cases": cases}, separators=(",", ":")).replace('},{"rows', '},\n{"rows'))
