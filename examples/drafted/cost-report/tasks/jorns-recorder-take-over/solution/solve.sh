#!/bin/bash
set -e
cd /app
python3 - <<'PY'
with open('recorder.py', encoding='utf-8') as f:
    code = f.read()

def put(old, new):
    global code
    assert code.count(old) == 1, old
    code = code.replace(old, new)

put("    raise NotImplementedError('as in our usage files')", '''    offset = '+%02d:00' % HOURS_AHEAD
    sessions, by_llm = {}, {}
    for name, place, llm, count in talks:
        sessions[name] = {'model': llm, 'totalTokens': count, 'channel': place}
        by_llm[llm] = by_llm.get(llm, 0) + count
    total = sum(by_llm.values())
    return {
        'date': moment[:10],
        'timestamp': moment.replace(' ', 'T') + ':00' + offset,
        'sessions': sessions,
        'summary': {'totalTokens': total, 'byModel': by_llm},
    }''')
put("    raise NotImplementedError('one JSON file')", '''    os.makedirs(folder, exist_ok=True)
    day = next(iter(record.values()))
    with open(os.path.join(folder, day + '.json'), 'w', encoding='utf-8') as f:
        json.dump(record, f, indent=2, ensure_ascii=False)''')
put("    raise NotImplementedError('only totals are known')", '''    part_in, part_out = 0.3, 0.7
    cost = 0.0
    for name, place, llm, count in talks:
        price = prices[llm]
        cost += count * (part_in * price[0] + part_out * price[1]) / 1000000
    return cost''')
with open('recorder.py', 'w', encoding='utf-8') as f:
    f.write(code)
PY
python3 recorder.py tables/saturday.tsv '2026-03-14 21:15' records
python3 recorder.py tables/sunday.tsv '2026-03-15 20:40' records
