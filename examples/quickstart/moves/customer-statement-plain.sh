mkdir -p out
python3 - <<'PY'
import csv, json
from decimal import Decimal
q = json.load(open("data/request.json"))
rows = []
for r in csv.DictReader(open("data/journal.csv", encoding="utf-8")):
    n = round(Decimal(r["amount"]) * 100)
    if r["account"] == q["account"] and q["from"] <= r["date"] <= q["to"] and n:
        ref = "".join(c for c in r["ref"].upper() if c.isalnum())[-10:]
        text = r["text"].encode("ascii", "replace").decode().replace(";", ",")[:24].rstrip()
        rows.append((n < 0, r["date"].replace("-", ""), ref, text, n))
rows.sort()
balance = sum(r[4] for r in rows) + round(Decimal(q["opening_balance"]) * 100)
with open("out/statement.csv", "w") as out:
    print("Datum;Beleg;Text;Betrag", file=out)
    for credit, date, ref, text, n in rows:
        print(date, ref, text, f"({-n})" if credit else n, sep=";", file=out)
    print(f"Saldo;;;{f'({-balance})' if balance < 0 else balance}", file=out)
PY
