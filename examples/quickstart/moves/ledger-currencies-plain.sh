mkdir -p out
python3 - <<'PY'
import json
book = json.load(open("data/postings.json"))
for ccy in sorted({p["currency"] for p in book["postings"]}):
    rows = [p for p in book["postings"] if p["currency"] == ccy and p["posted"].startswith(book["month"])]
    with open(f"out/{ccy}.lx", "w") as out:
        print("H", book["entity"], book["month"], ccy, sep="|", file=out)
        for n, p in enumerate(rows, 1):
            amount = p["debit"] or "-" + p["credit"]
            print("D", n, p["account"], p["posted"], amount, p["doc"], p["memo"], sep="|", file=out)
        print("T", len(rows), sep="|", file=out)
PY
