"""The rack plan."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness
from harness import check, lines, read, same, table

WANT = {
    "RK-F80-A-01": "B1 CSF-26047-102W C1 CSF-26047-103M D1 CSF-26047-101E D4 BLK-00000-000",
    "RK-F80-B-01": "B1 SRM-26047-103Y C1 SRM-26047-114E D1 PLX-26047-116L E1 PLX-26047-107M A2 SRM-26047-109W "
    "B2 SRM-26047-111F C2 PLX-26047-113M D2 SRM-26047-102G E2 PLX-26047-104N F2 SRM-26047-115W A3 SRM-26047-106X "
    "B3 SRM-26047-117D D4 BLK-00000-000",
    "RK-F80-B-02": "B1 PLX-26047-110N C1 PLX-26047-101P D4 BLK-00000-000",
    "RK-C04-01": "B1 URD-26047-101Y C1 URD-26047-103F D1 URD-26047-104X D4 BLK-00000-000",
    "RK-QTN-01": "B1 SRM-26047-105F C1 SRM-26047-108E D1 SRM-26047-112X E1 URD-26047-102P D4 BLK-00000-000",
}

def seal_of(data):
    total = 17
    for byte in data:
        total = (total * 31 + byte) % 999961
    return f"SEAL/2 {data.count(10) - 1} {total:06d}\n"


def racks():
    found = {}
    for rack, position, label in table("out/racks.csv"):
        found.setdefault(rack, []).append((position, label))
    return found


def wanted(rack):
    words = WANT[rack].split()
    return list(zip(words[::2], words[1::2]))


@check
def header():
    same(lines("out/racks.csv")[0], "rack,position,label")


@check
def names_of_racks():
    same(list(racks()), list(WANT))


@check
def every_tube_once():
    tubes = [label for rows in WANT.values() for label in rows.split()[1::2] if not label.startswith("BLK")]
    found = [row[2] for row in table("out/racks.csv") if not row[2].startswith("BLK")]
    same(sorted(found), sorted(tubes))


@check
def positions():
    same([[p for p, _ in rows] for rows in racks().values()], [[p for p, _ in wanted(rack)] for rack in WANT])


@check
def blanks():
    same([dict(rows).get("D4") for rows in racks().values()], ["BLK-00000-000"] * 5)


@check
def tubes_by_age():
    same(racks().get("RK-F80-B-01"), wanted("RK-F80-B-01"))


@check
def quarantine():
    same(racks().get("RK-QTN-01"), wanted("RK-QTN-01"))


@check
def sealed():
    same(read("out/racks.csv.seal").decode(), seal_of(read("out/racks.csv")))


harness.run()
