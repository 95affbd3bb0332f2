"""Writes reference.json: what scipy and plain numpy give for the cases the tests check.

    pip install numpy scipy
    python generate.py > reference.json

Nothing here follows the Rust code: quantiles, tests and exact intervals are scipy's, and the intervals of the project's
own making are computed from their definition, the one for the normalised gain by a search instead of a formula.
"""

import json
import warnings

import numpy as np
import scipy
from scipy import optimize, stats

warnings.simplefilter("ignore")
random = np.random.default_rng(20240611)


def suite(tasks, clusters=None):
    """A suite of paired tasks with unequal repetitions; scores are 0, 1 and, for every fifth task, in between."""
    out = []
    for i in range(tasks):
        p = random.beta(0.6, 0.9)
        q = min(1.0, max(0.0, p + random.normal(0.15, 0.25)))
        ra, rb = random.integers(1, 6, 2)
        arm, base = random.binomial(1, q, ra).astype(float), random.binomial(1, p, rb).astype(float)
        if i % 5 == 4:
            arm, base = np.round(random.random(ra), 3), np.round(random.random(rb), 3)
        cluster = None if clusters is None or i % 4 == 3 else int(random.integers(0, clusters))
        out.append({"arm": arm.tolist(), "base": base.tolist(), "cluster": cluster})
    return out


def one_trial(tasks):
    """v₀ of one trial: 1/4, and for fractional scores the pooled variance within cells with one more observation of 1/4."""
    return of_cells([np.array(t[arm], dtype=float) for t in tasks for arm in ("arm", "base")])


def of_cells(cells):
    if all(set(np.unique(cell)) <= {0.0, 1.0} for cell in cells):
        return 0.25
    squares = sum(len(cell) * np.var(cell) for cell in cells)
    return (squares + 0.25) / (sum(len(cell) - 1 for cell in cells) + 1)


def contrast(tasks, p, q, c=0.0):
    """n, mean, s², m₃ and v₀ of p·arm + q·base + c over the units.

    With units of unequal size these are what n equal units would need to have for their mean to have CR2's variance, n − 1
    being Satterthwaite's degrees of freedom. Both come from the matrices of Bell & McCaffrey (2002) and Pustejovsky &
    Tipton (2018), not from the sums that the Rust code uses.
    """
    groups = {}
    for i, task in enumerate(tasks):
        key = ("task", i) if task["cluster"] is None else ("cluster", task["cluster"])
        groups.setdefault(key, []).append(task)
    k, total, one = len(groups), len(tasks), one_trial(tasks)
    values, noises, weights = [], [], []
    for members in groups.values():
        values.append(np.mean([p * np.mean(t["arm"]) + q * np.mean(t["base"]) + c for t in members]))
        noise = [one * (p * p / len(t["arm"]) + q * q / len(t["base"])) for t in members]
        noises.append(np.sum(noise) / len(members) ** 2)
        weights.append(len(members) * k / total)
    values, noises, weights = map(np.array, (values, noises, weights))
    mean = np.mean(weights * values)
    deviations = weights * (values - mean)
    if k > 1 and len(set(weights)) > 1:
        a = weights / k
        residual = np.eye(k) - np.outer(np.ones(k), a)
        h = residual @ residual.T
        # CR2: each residual divided by the root of its own variance.
        corrected = (values - mean) / np.sqrt(np.diag(h))
        variance = np.sum(a**2 * corrected**2)
        ch = np.diag(a**2 / np.diag(h)) @ h
        n = np.trace(ch) ** 2 / np.trace(ch @ ch) + 1
        m3, noise = np.sum(a**3 * (values - mean) ** 3) * n * n, n * np.sum(a**2 * noises)
        return n, mean, n * variance, m3, noise
    return k, mean, np.sum(deviations**2) / (k - 1), np.mean(deviations**3), np.mean(weights**2 * noises)


def shrunk(n, s2, v0):
    """s̃² and its degrees of freedom."""
    return ((n - 1) * s2 + 2 * v0) / (n + 1), (n + 1) ** 2 / (n - 1)


def interval(n, mean, s2, m3, v0, level):
    t2, f = shrunk(n, s2, v0)
    q = 0.5 + level / 2
    t = stats.t.ppf(q, n - 1)
    half = max(t * np.sqrt(s2 / n), stats.t.ppf(q, f) * np.sqrt(t2 / n))
    skew = m3 / (12 * max(s2, t2) * n) * (1 + 2 * t * t)
    return mean - half + min(0, skew), mean + half + max(0, skew)


def lift(tasks, level, margin=0.0):
    """The interval; with a margin that which decides on no effect within it, whose pseudo-tasks have d(1 - d) more variance."""
    n, mean, s2, m3, v0 = contrast(tasks, 1, -1)
    low, high = interval(n, mean, s2, m3, v0 + margin * (1 - margin), level)
    return {"mean": mean, "low": max(-1, low), "high": min(1, high)}


def p_value(tasks):
    """1 less the highest level at which the interval excludes 0."""
    n, mean, s2, m3, v0 = contrast(tasks, 1, -1)

    def edge(p):
        low, high = interval(n, mean, s2, m3, v0, 1 - p)
        return max(low, -high)

    return optimize.brentq(edge, 1e-12, 1 - 1e-12, xtol=1e-15) if edge(1 - 1e-12) > 0 else 1.0


def detectable(n, s2, v0, m):
    t2, f = shrunk(n, s2, v0)
    both = lambda df: stats.t.ppf(1 - 0.025 / m, df) + stats.t.ppf(0.8, df)
    return max(both(n - 1) * np.sqrt(s2 / n), both(f) * np.sqrt(t2 / n))


def needed(tasks, m, effect):
    k, _, s2, _, v0 = contrast(tasks, 1, -1)
    n = 5
    while detectable(n, s2, v0, m) > effect:
        n += 1
    return int(np.ceil(n * len(tasks) / k))


def gain(tasks, level):
    """The hull of all g in [−1, 1] that the default interval of u(g) does not reject, by search."""
    base = np.mean([np.mean(t["base"]) for t in tasks])
    arm = np.mean([np.mean(t["arm"]) for t in tasks])
    value = (arm - base) / (1 - base) if arm >= base else (arm - base) / base

    def accepts(g):
        p, q, c = (1, -(1 - g), -g) if g >= 0 else (1, -(1 + g), 0)
        low, high = interval(*contrast(tasks, p, q, c), level)
        return low <= 0 <= high

    grid = np.linspace(-1, 1, 801)
    inside = [i for i, g in enumerate(grid) if accepts(g)]
    low, high = inside[0], inside[-1]

    def edge(yes, no):
        for _ in range(60):
            middle = (yes + no) / 2
            yes, no = (middle, no) if accepts(middle) else (yes, middle)
        return yes

    return {
        "value": value,
        "low": grid[low] if low == 0 else edge(grid[low], grid[low - 1]),
        "high": grid[high] if high == 800 else edge(grid[high], grid[high + 1]),
    }


def comparison(tasks, m, level):
    k, _, s2, _, v0 = contrast(tasks, 1, -1)
    sizes = [sum(u["cluster"] == t["cluster"] for u in tasks) if t["cluster"] is not None else 1 for t in tasks]
    return {
        "effective": len(tasks) ** 2 / sum(sizes),
        "tasks": tasks,
        "m": m,
        "level": level,
        "lift": lift(tasks, level),
        "verdict": lift(tasks, 1 - 0.05 / m),
        "equivalence": lift(tasks, 1 - 0.1 / m, 0.1),
        "p": p_value(tasks),
        "detectable": detectable(k, s2, v0, m),
        "needed": [[effect, needed(tasks, m, effect)] for effect in (0.05, 0.1, 0.3)],
        "gain": gain(tasks, level),
    }


def rate(tasks, level):
    means = np.array([np.mean(t) for t in tasks])
    v0 = np.mean([of_cells([np.array(t, dtype=float) for t in tasks]) / len(t) for t in tasks])
    mean = np.mean(means)
    low, high = interval(len(tasks), mean, np.var(means, ddof=1), np.mean((means - mean) ** 3), v0, level)
    return {"tasks": tasks, "level": level, "mean": mean, "low": max(0, low), "high": min(1, high)}


def sign_flip(d, stored=None):
    result = stats.permutation_test(
        (d,),
        lambda x, axis: np.mean(x, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
        batch=4096,
    )
    return {"differences": stored or d, "p": result.pvalue}


def wilcoxon(d, method, stored=None):
    result = stats.wilcoxon(d, zero_method="pratt", method=method, correction=False)
    return {"differences": stored or d, "p": result.pvalue}


def thirds(n):
    """Differences of means of three trials: many ties and zeros, none of them exact in binary.

    scipy gets them in whole thirds, for it takes 1/3 - 2/3 and 0 - 1/3 for two sizes; stored are the quotients.
    """
    pairs = random.integers(0, 4, (n, 2)).tolist()
    return {"d": [a - b for a, b in pairs], "stored": [a / 3 - b / 3 for a, b in pairs]}


enumerate_all = stats.PermutationMethod(n_resamples=np.inf)
tails = [0.2, 0.1, 0.05, 0.025, 0.0125, 0.00625, 0.0005, 1e-6, 1e-12]
out = {
    "made_with": {"numpy": np.__version__, "scipy": scipy.__version__},
    "normal": [[p, stats.norm.isf(p)] for p in tails],
    "student": [
        [df, p, stats.t.isf(p, df)]
        for df in (1, 2, 3, 4, 5, 9, 19, 29, 83, 250, 999, 1000, 1001, 5000, 1e6, 1e9)
        for p in tails
    ],
    "clopper_pearson": [
        [x, n, level, *stats.binomtest(x, n).proportion_ci(level, method="exact")]
        for n in (1, 2, 3, 10, 30, 1000, 40_000)
        for x in sorted({0, 1, n // 3, n // 2, n - 1, n})
        for level in (0.8, 0.95, 0.999)
    ],
    "wilcoxon": [wilcoxon(random.normal(0.3, 1, n).tolist(), "exact") for n in (1, 2, 5, 10, 25, 50, 150, 200)]
    + [wilcoxon(**thirds(n), method=enumerate_all) for n in (3, 6, 9, 12, 12, 14, 16)]
    + [wilcoxon(random.normal(0.1, 1, n).tolist(), "asymptotic") for n in (201, 1000)]
    + [wilcoxon(**thirds(n), method="asymptotic") for n in (201, 400)],
    "sign_flip": [sign_flip(random.normal(0.4, 1, n).tolist()) for n in (2, 3, 5, 11, 16)]
    + [sign_flip(**thirds(n)) for n in (2, 4, 7, 12, 15, 18)],
    "comparison": [
        comparison(suite(n, clusters), m, level)
        for n, clusters, m, level in (
            (5, None, 1, 0.95),
            (10, None, 1, 0.95),
            (10, None, 4, 0.9),
            (12, 30, 2, 0.95),
            (30, None, 6, 0.99),
            (40, 9, 3, 0.95),
            (84, None, 1, 0.95),
            (84, 20, 12, 0.8),
        )
    ],
    "rate": [
        rate([t["arm"] for t in suite(n)], level) for n, level in ((2, 0.95), (5, 0.95), (20, 0.9), (84, 0.99))
    ],
}
print(json.dumps(out, indent=None, separators=(",", ":")).replace('],"', '],\n"').replace('},{"', '},\n{"'))
