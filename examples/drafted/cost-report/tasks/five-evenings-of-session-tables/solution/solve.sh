#!/bin/bash
set -e
cd /app
python3 - <<'PY'
import glob, json, os, re

FOLDER = 'memory/usage'
PRICES = {'claude-sonnet-4': (3, 15), 'gpt-4o': (2.5, 10)}
PART_IN, PART_OUT = 0.3, 0.7
os.makedirs(FOLDER, exist_ok=True)
week = []
for path in glob.glob('tables/*.txt'):
    with open(path, encoding='utf-8') as f:
        lines = f.read().splitlines()
    d, m, y = map(int, re.search(r'(\d+)\.(\d+)\.(\d{4})', lines[0]).groups())
    day = '%04d-%02d-%02d' % (y, m, d)
    sessions, by_llm = {}, {}
    for line in lines[1:]:
        if not line.startswith('agent:'):
            continue
        name, place, llm, count = line.split()
        count = int(count.replace('.', ''))
        sessions[name] = {'model': llm, 'totalTokens': count, 'channel': place}
        by_llm[llm] = by_llm.get(llm, 0) + count
    total = sum(by_llm.values())
    record = {'date': day, 'timestamp': day + 'T21:30:00+01:00', 'sessions': sessions}
    record['summary'] = {'totalTokens': total, 'byModel': by_llm}
    with open('%s/%s.json' % (FOLDER, day), 'w', encoding='utf-8') as f:
        json.dump(record, f, indent=2)
    cost = sum(n * (PART_IN * PRICES[k][0] + PART_OUT * PRICES[k][1]) / 1000000 for k, n in by_llm.items())
    week.append('%s,%.2f' % (day, cost))
with open('week.csv', 'w') as f:
    print('day,amount', *sorted(week), sep='\n', file=f)
with open('prices.csv', 'w') as f:
    print('llm,prompt,answer', file=f)
    for k, (a, b) in PRICES.items():
        print(k, a, b, sep=',', file=f)
PY
