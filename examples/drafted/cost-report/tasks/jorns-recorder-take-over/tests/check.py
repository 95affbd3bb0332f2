import json
import os
import re
import subprocess
import sys
import tempfile

from sets import check

SONNET, GPT = 'claude-sonnet-4', 'gpt-4o'
TALKS = [
    ('agent:club:whatsapp:committee', 'whatsapp', SONNET), ('agent:club:whatsapp:juniors', 'whatsapp', GPT),
    ('agent:club:telegram:regatta', 'telegram', SONNET), ('agent:club:telegram:boatyard', 'telegram', GPT),
    ('agent:club:discord:weather', 'discord', SONNET), ('agent:club:discord:trainees', 'discord', GPT),
]
SATURDAY = [t + (n,) for t, n in zip(TALKS, [61240, 23915, 118306, 40772, 87455, 15638])]
SUNDAY = [t + (n,) for t, n in zip(TALKS, [74118, 19240, 203517, 52361, 96084, 22709])]
OTHER = [('agent:club:signal:bar', 'signal', GPT, 31007), ('agent:club:signal:kiosk', 'signal', SONNET, 9120),
         ('agent:club:matrix:harbour', 'matrix', GPT, 77413)]


def sums(rows):
    found = {}
    for name, place, llm, count in rows:
        found[llm] = found.get(llm, 0) + count
    return found


def jsons(top):
    found = []
    for folder, dirs, names in os.walk(top):
        dirs.sort()
        for name in sorted(names):
            if not name.lower().endswith('.json'):
                continue
            try:
                with open(os.path.join(folder, name), encoding='utf-8-sig') as f:
                    found.append(json.load(f))
            except (OSError, ValueError):
                continue
    return found


def run(rows, moment='2026-03-14 21:15'):
    with tempfile.TemporaryDirectory() as folder:
        table, out = os.path.join(folder, 'table.tsv'), os.path.join(folder, 'out')
        with open(table, 'w', encoding='utf-8') as f:
            print('conversation', 'place', 'llm', 'tokens', sep='\t', file=f)
            for row in rows:
                print(*row, sep='\t', file=f)
        done = subprocess.run([sys.executable, os.path.abspath('recorder.py'), table, moment, out],
                              capture_output=True, text=True, timeout=60)
        numbers = re.findall(r'\d+(?:\.\d+)?', done.stdout.replace(',', ''))
        return jsons(out), float(numbers[-1]) if numbers else None


def cost(*rows):
    amount = run(rows)[1]
    assert amount is not None, 'no amount is printed'
    return amount


def dicts(node):
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from dicts(value)
    elif isinstance(node, list):
        for value in node:
            yield from dicts(value)


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


def number(value):
    try:
        return float(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError):
        return None


def lacks(node, rows):
    found = list(leaves(node))
    words, numbers = {str(v) for v in found}, {number(v) for v in found}
    by = sums(rows)
    wanted = [r[3] for r in rows] + list(by.values()) + [sum(by.values())]
    return [r[0] for r in rows if r[0] not in words] + [w for w in wanted if w not in numbers]


def records():
    return run(SATURDAY)[0] + jsons('.')


def everywhere():
    return [d for node in records() for d in dicts(node)]


@check('gc-program')
def gc_program():
    for rows, moment in ((SATURDAY, '2026-03-14 21:15'), (OTHER, '2026-03-21 08:05')):
        nodes = run(rows, moment)[0]
        assert nodes, 'no JSON file is written'
        lost = [lacks(node, rows) for node in nodes]
        assert [] in lost, lost


@check('gc-day')
def gc_day():
    nodes = run(OTHER, '2026-03-21 08:05')[0]
    assert any('2026-03-21' in str(v) or '2026-03-20' in str(v) for node in nodes for v in leaves(node)), 'no day in the file'


@check('gc-amount')
def gc_amount():
    assert cost(*OTHER) > 0, 'no positive amount'


@check('gc-records')
def gc_records():
    nodes = jsons('records')
    for rows in (SATURDAY, SUNDAY):
        assert any(not lacks(node, rows) for node in nodes), 'a record is missing'


@check('d04')
def if_d04():
    got = cost(('agent:club:signal:bar', 'signal', GPT, 2000000))
    assert abs(got - 2 * (0.3 * 2.5 + 0.7 * 10)) < 0.02, got


@check('d11')
def if_d11():
    found = [d for d in everywhere() if {'date', 'timestamp', 'sessions', 'summary'} <= set(d)]
    assert any(str(d['date']).startswith('2026-03-14') for d in found), 'the keys at the top'


@check('d12')
def if_d12():
    found = {str(v).strip() for node in records() for v in leaves(node)}
    assert any(re.fullmatch(r'2026-03-14T21:15:00\+13:?00', v) for v in found), 'the moment'


@check('d13')
def if_d13():
    wanted = {r[0]: (r[2], float(r[3]), r[1]) for r in SATURDAY}
    for d in everywhere():
        if all(isinstance(d.get(name), dict) for name in wanted):
            got = {n: (d[n].get('model'), number(d[n].get('totalTokens')), d[n].get('channel')) for n in wanted}
            if got == wanted:
                return
    raise AssertionError('the conversations')


@check('d14')
def if_d14():
    # the place belongs to the answer: summary.totalTokens and summary.byModel, in whichever record
    by = sums(SATURDAY)
    for d in everywhere():
        s = d.get('summary')
        if isinstance(s, dict) and isinstance(s.get('byModel'), dict) and number(s.get('totalTokens')) == sum(by.values()):
            if all(number(s['byModel'].get(k)) == v for k, v in by.items()):
                return
    raise AssertionError('the sums')


@check('d16')
def if_d16():
    one = ('agent:club:signal:bar', 'signal', GPT, 1000000)
    three = ('agent:club:signal:kiosk', 'signal', SONNET, 3000000)
    assert abs(cost(one) - cost(three) / 3) > 0.01, 'both LLMs have one price'
    for both in ((one, three), (three, one)):
        assert abs(cost(*both) - cost(one) - cost(three)) < 0.02, 'the LLMs are not priced apart'
