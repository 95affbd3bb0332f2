import csv
import json
import os
import re

from sets import check

SONNET, BIG, MINI = 'claude-sonnet-4', 'gpt-4o', 'gpt-4o-mini'
TALKS = [
    ('agent:bakery:whatsapp:orders', 'whatsapp', SONNET), ('agent:bakery:whatsapp:night', 'whatsapp', MINI),
    ('agent:bakery:telegram:drivers', 'telegram', BIG), ('agent:bakery:telegram:flour', 'telegram', MINI),
    ('agent:bakery:slack:office', 'slack', SONNET), ('agent:bakery:slack:recipes', 'slack', BIG),
    ('agent:bakery:web:shop', 'web', MINI), ('agent:bakery:signal:owner', 'signal', SONNET),
    ('agent:bakery:signal:baker', 'signal', BIG),
]
COUNTS = {
    '2026-02-09': [184000, 92000, 76000, 41000, 131000, 58000, 305000, 22000, 37000],
    '2026-02-10': [201000, 88000, 69000, 47000, 118000, 63000, 328000, 19000, 44000],
    '2026-02-11': [176000, 95000, 81000, 39000, 142000, 54000, 297000, 26000, 35000],
    '2026-02-12': [193000, 101000, 72000, 52000, 125000, 61000, 341000, 17000, 48000],
}
FULL = {SONNET: 15.0, BIG: 10.0, MINI: 0.6}
HEADING = 'Usage of the bakeries'


def sums(day):
    found = {}
    for talk, count in zip(TALKS, COUNTS[day]):
        found[talk[2]] = found.get(talk[2], 0) + count
    return found


def number(value):
    if isinstance(value, bool):
        return None
    try:
        return float(str(value).replace('$', '').replace(',', '').strip())
    except ValueError:
        return None


def read(path):
    try:
        with open(path, newline='', encoding='utf-8-sig', errors='replace') as f:
            return f.read(1000000)
    except OSError:
        return ''


def paths():
    for folder, dirs, names in os.walk('.'):
        dirs.sort()
        for name in sorted(names):
            yield os.path.join(folder, name)


def jsons():
    for path in paths():
        if path.lower().endswith('.json'):
            try:
                yield path, json.loads(read(path))
            except ValueError:
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
    return [d for path, node in jsons() for d in dicts(node)]


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
        words, numbers = {str(v) for v in found}, {number(v) for v in found}
        if day not in path and not any(day in w for w in words):
            continue
        if all(t[0] in words for t in TALKS) and all(c in numbers for c in COUNTS[day]):
            return numbers
    raise AssertionError('no file of %s' % day)


def rows(path):
    body = read(path)
    mark = ';' if ';' in body.split('\n')[0] else ','
    return [{str(k).strip().lower(): str(v or '').strip() for k, v in row.items()} for row in csv.DictReader(body.splitlines(), delimiter=mark)]


def amounts():
    return {(r.get('day'), r.get('conversation')): number(r.get('amount')) for r in rows('ledger.csv')}


def prices():
    found = {}
    for r in rows('prices.csv'):
        pair = number(r.get('prompt')), number(r.get('answer'))
        if None not in pair:
            found[r.get('llm')] = pair
    return found


@check('gc-days')
def gc_days():
    for day in COUNTS:
        of_day(day)


@check('gc-sums')
def gc_sums():
    for day in COUNTS:
        numbers = of_day(day)
        lost = [w for w in list(sums(day).values()) + [sum(COUNTS[day])] if w not in numbers]
        assert not lost, '%s: %s' % (day, lost)


@check('gc-ledger')
def gc_ledger():
    found = amounts()
    for day, counts in COUNTS.items():
        for (name, chat, llm), count in zip(TALKS, counts):
            got = found.get((day, name))
            assert got is not None and got > 0, 'no amount of %s, %s' % (day, name)
            assert got < count * FULL[llm] / 1e6 - 0.00005, 'the amount of %s, %s was not put right' % (day, name)


@check('gc-prices')
def gc_prices():
    found = prices()
    for llm in FULL:
        assert llm in found and min(found[llm]) > 0, 'no prices of %s' % llm


def with_heading():
    found = []
    for path in paths():
        parts = read(path).split(HEADING)
        if any(len([l for l in p.splitlines()[1:] if l.strip()]) >= 2 for p in parts[1:]):
            found.append(os.path.basename(path))
    return found


@check('gc-morning')
def gc_morning():
    assert with_heading(), 'no instructions for the morning'


@check('d04')
def if_d04():
    price = {SONNET: (3.0, 15.0), BIG: (2.5, 10.0), MINI: (0.15, 0.6)}
    price.update(prices())
    found = amounts()
    for day, counts in COUNTS.items():
        for (name, chat, llm), count in zip(TALKS, counts):
            wanted = count * (0.3 * price[llm][0] + 0.7 * price[llm][1]) / 1e6
            got = found.get((day, name))
            assert got is not None and abs(got - wanted) < 0.0011, '%s, %s: %s, and not %.4f' % (day, name, got, wanted)


@check('d09')
def if_d09():
    assert prices().get(MINI) == (0.15, 0.6), prices()


@check('d11')
def if_d11():
    found = [d for d in everywhere() if {'date', 'timestamp', 'sessions', 'summary'} <= set(d)]
    lost = [day for day in COUNTS if not any(str(d['date']).startswith(day) for d in found)]
    assert not lost, lost


@check('d13')
def if_d13():
    found = everywhere()
    for day in COUNTS:
        wanted = {t[0]: (t[2], float(c), t[1]) for t, c in zip(TALKS, COUNTS[day])}
        ok = False
        for d in found:
            if all(isinstance(d.get(name), dict) for name in wanted):
                got = {n: (d[n].get('model'), number(d[n].get('totalTokens')), d[n].get('channel')) for n in wanted}
                ok = ok or got == wanted
        assert ok, day


@check('d14')
def if_d14():
    # the place belongs to the answer: summary.totalTokens and summary.byModel, in whichever file
    found = [d['summary'] for d in everywhere() if isinstance(d.get('summary'), dict)]
    found = [s for s in found if isinstance(s.get('byModel'), dict)]
    for day in COUNTS:
        by = sums(day)
        assert any(number(s.get('totalTokens')) == sum(by.values()) and all(number(s['byModel'].get(k)) == v for k, v in by.items())
                   for s in found), day


@check('d19')
def if_d19():
    assert 'HEARTBEAT.md' in with_heading(), with_heading()
