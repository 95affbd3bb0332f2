import csv
import json
import os

from sets import check

SONNET, GPT = 'claude-sonnet-4', 'gpt-4o'
TALKS = [
    ('agent:studio:telegram:ines', 'telegram', SONNET), ('agent:studio:telegram:bruno', 'telegram', SONNET),
    ('agent:studio:whatsapp:mira', 'whatsapp', GPT), ('agent:studio:slack:legal', 'slack', SONNET),
    ('agent:studio:slack:medical', 'slack', SONNET), ('agent:studio:slack:patents', 'slack', GPT),
    ('agent:studio:signal:night', 'signal', SONNET), ('agent:studio:web:customers', 'web', GPT),
    ('agent:studio:cron:glossary', 'cron', SONNET),
]
COUNTS = {
    '2026-03-02': [84210, 51330, 62480, 140905, 98720, 77115, 23460, 45890, 31275],
    '2026-03-03': [79645, 60218, 58330, 151470, 87905, 82640, 19385, 50127, 30980],
    '2026-03-04': [91502, 47780, 66915, 133248, 104630, 71059, 28714, 39466, 32140],
    '2026-03-05': [88037, 55921, 60742, 147386, 93518, 79283, 21069, 48635, 29857],
    '2026-03-06': [70456, 42669, 53108, 118734, 81297, 68540, 17623, 35912, 30411],
}


def sums(day):
    found = {SONNET: 0, GPT: 0}
    for talk, count in zip(TALKS, COUNTS[day]):
        found[talk[2]] += count
    return found


def number(value):
    if isinstance(value, bool):
        return None
    try:
        return float(str(value).replace('$', '').replace(',', '').strip())
    except ValueError:
        return None


def paths(end):
    for folder, dirs, names in os.walk('.'):
        dirs.sort()
        for name in sorted(names):
            if name.lower().endswith(end):
                yield os.path.join(folder, name).replace(os.sep, '/')


def jsons():
    for path in paths('.json'):
        try:
            with open(path, encoding='utf-8-sig') as f:
                yield path, json.load(f)
        except (OSError, ValueError):
            continue


def dicts(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from dicts(value)
    elif isinstance(node, list):
        for value in node:
            yield from dicts(value)


def everywhere():
    for path, node in jsons():
        yield from dicts(node)


def leaves(node):
    if isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from leaves(value)
    elif isinstance(node, list):
        for value in node:
            yield from leaves(value)
    else:
        yield node


def of_day(day):
    for path, node in jsons():
        found = list(leaves(node))
        words = {str(v) for v in found}
        numbers = {number(v) for v in found}
        if day not in path and not any(day in w for w in words):
            continue
        if all(t[0] in words for t in TALKS) and all(c in numbers for c in COUNTS[day]):
            return numbers
    raise AssertionError('no JSON file with the conversations and counts of %s' % day)


def rows(path):
    try:
        with open(path, newline='', encoding='utf-8-sig', errors='replace') as f:
            body = f.read()
    except OSError:
        return []
    first = body.split('\n')[0]
    reader = csv.DictReader(body.splitlines(), delimiter=';' if ';' in first else ',')
    return [{str(k).strip().lower(): str(v).strip() for k, v in row.items()} for row in reader]


def prices():
    found = {}
    for path in paths('.csv'):
        for row in rows(path):
            pair = number(row.get('prompt')), number(row.get('answer'))
            if None not in pair and row.get('llm') in (SONNET, GPT):
                found[row['llm']] = pair
    return found


def amounts():
    return {row.get('day'): number(row.get('amount')) for row in rows('week.csv')}


@check('gc-days')
def gc_days():
    for day in COUNTS:
        of_day(day)


@check('gc-sums')
def gc_sums():
    for day in COUNTS:
        numbers = of_day(day)
        wanted = list(sums(day).values()) + [sum(COUNTS[day])]
        lost = [w for w in wanted if w not in numbers]
        assert not lost, '%s: %s' % (day, lost)


@check('gc-week')
def gc_week():
    found = amounts()
    for day in COUNTS:
        assert found.get(day) is not None and found[day] > 0, 'no amount of %s' % day


@check('gc-prices')
def gc_prices():
    found = {row.get('llm'): row for row in rows('prices.csv')}
    for llm in (SONNET, GPT):
        for key in ('prompt', 'answer'):
            value = number(found.get(llm, {}).get(key))
            assert value is not None and value > 0, '%s of %s' % (key, llm)


@check('d04')
def if_d04():
    price = {SONNET: (3.0, 15.0), GPT: (2.5, 10.0)}
    price.update(prices())
    found = amounts()
    for day in COUNTS:
        wanted = sum(n * (0.3 * price[llm][0] + 0.7 * price[llm][1]) / 1e6 for llm, n in sums(day).items())
        got = found.get(day)
        assert got is not None and abs(got - wanted) < 0.06, '%s: %s, and not %.2f' % (day, got, wanted)


@check('d06')
def if_d06():
    assert prices().get(SONNET) == (3.0, 15.0), prices()


@check('d10')
def if_d10():
    found = [path for path, node in jsons()]
    lost = [day for day in COUNTS if not any(p.endswith('memory/usage/%s.json' % day) for p in found)]
    assert not lost, lost


@check('d11')
def if_d11():
    found = [d for d in everywhere() if {'utab', 'uparebudo', 'tomururu', 'ifakomo'} <= set(d)]
    lost = [day for day in COUNTS if not any(str(d['utab']).startswith(day) for d in found)]
    assert not lost, lost


@check('d13')
def if_d13():
    found = list(everywhere())
    for day in COUNTS:
        wanted = {t[0]: (t[2], float(c), t[1]) for t, c in zip(TALKS, COUNTS[day])}
        ok = False
        for d in found:
            if not all(isinstance(d.get(name), dict) for name in wanted):
                continue
            got = {n: (d[n].get('zikop'), number(d[n].get('bolodAbigir')), d[n].get('vudobot')) for n in wanted}
            ok = ok or got == wanted
        assert ok, day


@check('d14')
def if_d14():
    # the place belongs to the answer: ifakomo.bolodAbigir and ifakomo.kiZotas, in whichever file
    found = [d['ifakomo'] for d in everywhere() if isinstance(d.get('ifakomo'), dict)]
    found = [s for s in found if isinstance(s.get('kiZotas'), dict)]
    for day in COUNTS:
        by = sums(day)
        ok = any(number(s.get('bolodAbigir')) == sum(COUNTS[day]) and all(number(s['kiZotas'].get(k)) == v for k, v in by.items()) for s in found)
        assert ok, day
