"""Usage of the sailing club's Clawdbot: python3 recorder.py TABLE MOMENT FOLDER"""
import csv
import json
import os
import sys

HOURS_AHEAD = 13  # Auckland against UTC, until 5 April
HERE = os.path.dirname(os.path.abspath(__file__))


def read_table(path):
    """Tuples of name, place, LLM and tokens"""
    talks = []
    with open(path, encoding='utf-8') as f:
        for line in f:
            parts = line.strip().split('\t')
            if len(parts) == 4 and parts[3].isdigit():
                talks.append((parts[0], parts[1], parts[2], int(parts[3])))
    return talks


def read_prices():
    """LLM: (prompt, answer)"""
    with open(os.path.join(HERE, 'prices.csv'), newline='', encoding='utf-8') as f:
        return {row['llm']: (float(row['prompt']), float(row['answer'])) for row in csv.DictReader(f)}


def build_record(talks, moment):
    raise NotImplementedError('as in our usage files')


def save(record, folder):
    raise NotImplementedError('one JSON file')


def estimate(talks, prices):
    raise NotImplementedError('only totals are known')


def main():
    table, moment, folder = sys.argv[1:4]
    talks = read_table(table)
    save(build_record(talks, moment), folder)
    print('%.4f' % estimate(talks, read_prices()))


if __name__ == '__main__':
    main()
