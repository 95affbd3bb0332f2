import csv
import json
import os
import re

from sets import check

BIG, MINI = 'gpt-4o', 'gpt-4o-mini'
TALKS = [
    ('agent:shop:telegram:floor', 'telegram', BIG), ('agent:shop:telegram:stock', 'telegram', MINI),
    ('agent:shop:whatsapp:guides', 'whatsapp', BIG), ('agent:shop:whatsapp:events', 'whatsapp', MINI),
    ('agent:shop:slack:orders', 'slack', BIG), ('agent:shop:slack:press', 'slack', BIG),
    ('agent:shop:web:visitors', 'web', MINI), ('agent:shop:signal:manager', 'signal', BIG),
]
COUNTS = {
    '2026-05-12': [812400, 1290350, 455120, 98740, 2031600, 377905, 3120480, 142255],
    '2026-05-13': [1204750, 1518900, 590330, 141215, 2688140, 401560, 4377025, 171890],
}


def sums(day):
    found = {BIG: 0, MINI: 0}
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


def jsons():
    for folder, dirs, names in os.walk('.'):
        dirs.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.lower().endswith('.json'):
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
    raise AssertionError('no record of %s' % day)


def table():
    try:
        with open('tuesday.csv', newline='', encoding='utf-8-sig', errors='replace') as f:
            body = f.read()
    except OSError:
        raise AssertionError('no tuesday.csv')
    first = body.split('\n')[0]
    reader = csv.DictReader(body.splitlines(), delimiter=';' if ';' in first else ',')
    found = [{str(k).strip().lower(): str(v or '').strip() for k, v in row.items()} for row in reader]
    return {row.get('llm', '').lower(): row for row in found}


def cell(llm, key):
    value = number(table().get(llm, {}).get(key))
    assert value is not None and value > 0, '%s of %s' % (key, llm)
    return value


@check('gc-records')
def gc_records():
    for day in COUNTS:
        of_day(day)


@check('gc-sums')
def gc_sums():
    for day in COUNTS:
        numbers = of_day(day)
        lost = [w for w in list(sums(day).values()) + [sum(COUNTS[day])] if w not in numbers]
        assert not lost, '%s: %s' % (day, lost)


@check('gc-table')
def gc_table():
    for llm in (BIG, MINI):
        for key in ('tokens', 'prompt', 'answer', 'amount'):
            cell(llm, key)


@check('gc-total')
def gc_total():
    for key, near in (('tokens', 0.5), ('amount', 0.021)):
        assert abs(cell('total', key) - cell(BIG, key) - cell(MINI, key)) < near, 'the total of %s' % key


@check('gc-answer')
def gc_answer():
    try:
        with open('tuesday.md', encoding='utf-8-sig', errors='replace') as f:
            body = f.read()
    except OSError:
        raise AssertionError('no tuesday.md')
    amount = cell('total', 'amount')
    found = [float(n.replace(',', '.')) for n in re.findall(r'\d+[.,]\d+|\d+', body)]
    assert any(abs(n - amount) < 0.06 for n in found), 'the total amount is not in the answer'


@check('d04')
def if_d04():
    for llm in (BIG, MINI):
        wanted = cell(llm, 'tokens') * (0.3 * cell(llm, 'prompt') + 0.7 * cell(llm, 'answer')) / 1e6
        assert abs(cell(llm, 'amount') - wanted) < 0.021, '%s: not %.2f' % (llm, wanted)


@check('d08')
def if_d08():
    assert (cell(BIG, 'prompt'), cell(BIG, 'answer')) == (2.5, 10.0), 'the prices of gpt-4o'


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


@check('d15')
def if_d15():
    before, after = sums('2026-05-12'), sums('2026-05-13')
    for llm in (BIG, MINI):
        assert cell(llm, 'tokens') == after[llm] - before[llm], llm
