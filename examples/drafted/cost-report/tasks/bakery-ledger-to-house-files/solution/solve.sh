#!/bin/bash
set -e
cd /app
mkdir -p memory/usage
python3 - <<'PY'
import csv, json

PRICES = {'claude-sonnet-4': (3, 15), 'gpt-4o': (2.5, 10), 'gpt-4o-mini': (0.15, 0.6)}
PART_IN, PART_OUT = 0.3, 0.7

with open('ledger.csv', newline='', encoding='utf-8') as f:
    reader = csv.DictReader(f)
    columns, rows = reader.fieldnames, list(reader)
days = {}
for r in rows:
    a, b = PRICES[r['llm']]
    r['amount'] = '%.4f' % (int(r['count']) * (PART_IN * a + PART_OUT * b) / 1000000)
    days.setdefault(r['day'], []).append(r)
with open('ledger.csv', 'w', newline='', encoding='utf-8') as f:
    w = csv.DictWriter(f, columns, lineterminator='\n')
    w.writeheader()
    w.writerows(rows)
with open('prices.csv', 'w') as f:
    print('llm,prompt,answer', file=f)
    for llm, (a, b) in PRICES.items():
        print(llm, a, b, sep=',', file=f)
for day, talks in days.items():
    sessions, by_llm = {}, {}
    for r in talks:
        llm, count, place = r['llm'], int(r['count']), r['chat']
        sessions[r['conversation']] = {'model': llm, 'totalTokens': count, 'channel': place}
        by_llm[llm] = by_llm.get(llm, 0) + count
    total = sum(by_llm.values())
    found = {'date': day, 'timestamp': '%sT%s:00+03:00' % (day, talks[0]['hour']), 'sessions': sessions}
    found['summary'] = {'totalTokens': total, 'byModel': by_llm}
    with open('memory/usage/%s.json' % day, 'w', encoding='utf-8') as f:
        json.dump(found, f, indent=2)
with open('HEARTBEAT.md', 'a', encoding='utf-8') as f:
    print('''
## Usage of the bakeries

Each morning:

1. Call `sessions_list` to get the tokens and LLM of each session, and store them in `memory/usage/YYYY-MM-DD.json`.
2. Load the file of the day before from `memory/usage/`.
3. Calculate the difference and estimate the cost for each LLM, with 30% input and 70% output.
4. Include it in the daily report:

   💰 **Clawdbot Cost** (yesterday)
   • Used: 45.2k tokens
   • Estimated: ~$1.23''', file=f)
PY
