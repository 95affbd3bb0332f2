mkdir -p out
python3 - <<'PY'
import csv, json
c = json.load(open("data/closing.json"))
rows = [r for r in csv.DictReader(open("data/journal.csv")) if r["date"].startswith(c["month"])]
with open("out/ledger.lx", "w") as out:
    print("H", c["entity"], c["month"], c["currency"], sep="|", file=out)
    for n, r in enumerate(rows, 1):
        amount = round(float(r["amount"]), 2)
        print("D", n, r["account"], r["date"], f"{amount:.2f}", r["ref"], r["text"], sep="|", file=out)
    print("T", len(rows), f"{sum(float(r['amount']) for r in rows):.2f}", sep="|", file=out)
PY
