mkdir -p out
python3 - <<'PY'
import pathlib
with open("out/intake.csv", "w") as out:
    print("file,code,line", file=out)
    for path in sorted(pathlib.Path("data/incoming").iterdir()):
        lines = path.read_text().splitlines()
        code, where = "OK", 0
        if not lines[-1].startswith("T|") or int(lines[-1].split("|")[1]) != len(lines) - 2:
            code, where = "BAD_TRAILER", len(lines)
        for n, line in enumerate(lines[1:-1], 2):
            if len(line.split("|")) != 7:
                code, where = "BAD_LINE", n
        print(path.name, code, where, sep=",", file=out)
PY
