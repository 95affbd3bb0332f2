mkdir -p out
python3 /skills/ledger-export/scripts/lx_check.py data/incoming/*.lx > out/intake.csv
wc -l out/intake.csv
