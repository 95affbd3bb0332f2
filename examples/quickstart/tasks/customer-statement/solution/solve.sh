#!/bin/bash
mkdir -p out
python3 - <<'PY'
import csv, json
from decimal import Decimal
q = json.load(open("data/request.json"))
money = lambda x: f"{x:.2f}".replace(".", ",")
total, out = Decimal(q["opening_balance"]), ["Datum;Beleg;Text;Betrag"]
for r in csv.DictReader(open("data/journal.csv", encoding="utf-8")):
    if r["account"] == q["account"] and q["from"] <= r["date"] <= q["to"]:
        total += Decimal(r["amount"])
        date = ".".join(reversed(r["date"].split("-")))
        out.append(";".join([date, r["ref"], r["text"].replace(";", ","), money(Decimal(r["amount"]))]))
out.append("Saldo;;;" + money(total))
open("out/statement.csv", "w", encoding="utf-8", newline="").write("\n".join(out) + "\n")
PY
