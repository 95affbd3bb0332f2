#!/bin/bash
set -e
cd /app
mkdir -p memory/usage
python3 - <<'PY'
import json, re

PRICES = {'gpt-4o': (2.5, 10), 'gpt-4o-mini': (0.15, 0.6)}
PART_IN, PART_OUT = 0.3, 0.7

def record(path):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    day, year = re.search(r'(\d+) May (\d{4})', text).groups()
    day = '%s-05-%02d' % (year, int(day))
    sessions, by_llm = {}, {}
    for name, place, llm, count in re.findall(r'(agent:\S+), in (\S+), on (\S+), stands at ([\d,]+)\.', text):
        count = int(count.replace(',', ''))
        sessions[name] = {'model': llm, 'totalTokens': count, 'channel': place}
        by_llm[llm] = by_llm.get(llm, 0) + count
    total = sum(by_llm.values())
    found = {'date': day, 'timestamp': day + 'T08:00:00+02:00', 'sessions': sessions}
    found['summary'] = {'totalTokens': total, 'byModel': by_llm}
    with open('memory/usage/%s.json' % day, 'w', encoding='utf-8') as f:
        json.dump(found, f, indent=2)
    return by_llm

earlier, later = record('chat/tuesday.txt'), record('chat/wednesday.txt')
used, cost = {}, {}
for llm in later:
    used[llm] = later[llm] - earlier[llm]
    cost[llm] = round(used[llm] * (PART_IN * PRICES[llm][0] + PART_OUT * PRICES[llm][1]) / 1000000, 2)
total = sum(cost.values())
with open('tuesday.csv', 'w') as f:
    print('llm,tokens,prompt,answer,amount', file=f)
    for llm in ('gpt-4o', 'gpt-4o-mini'):
        print('%s,%d,%s,%s,%.2f' % ((llm, used[llm]) + PRICES[llm] + (cost[llm],)), file=f)
    print('total,%d,,,%.2f' % (sum(used.values()), total), file=f)
with open('tuesday.md', 'w', encoding='utf-8') as f:
    print('''# What the agent used on Tuesday, 12 May 2026

From Tuesday to Wednesday, both at eight in the morning, the agent cost about **$%.2f**.

Most of it, about $%.2f, was the larger of the two machines behind it (gpt-4o); the small one (gpt-4o-mini) cost about $%.2f.

The providers count what the agent reads and writes in tokens, which are pieces of words: a page of text has some five hundred. On Tuesday it read and wrote %.1f million of them, more of them on the small machine, which is far cheaper.

This is an estimate, since we do not know yet how much of it was reading and how much was writing, which is dearer.''' % (
        total, cost['gpt-4o'], cost['gpt-4o-mini'], sum(used.values()) / 1e6), file=f)
PY
