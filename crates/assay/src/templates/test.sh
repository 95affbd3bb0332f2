#!/bin/bash
# Runs after the agent has exited. Checks the files in /app, and writes the reward (1 if all checks pass, else 0) and the
# result of each check (CTRF). Keep everything that the checks need in /tests: the agent can change all other files.
reward=1
results=

# check NAME COMMAND...: a check that passes if the command succeeds. The name has no quotes.
check() {
    local name=$1 status=passed
    shift
    "$@" || { status=failed; reward=0; }
    results="$results${results:+, }{\"name\": \"$name\", \"status\": \"$status\"}"
}

has_the_result() {
    [ "$(cat /app/result.txt 2>/dev/null)" = "the expected result" ]
}

check "result.txt has the expected result" has_the_result

echo "{\"reward\": $reward}" > /logs/verifier/reward.json
echo "{\"results\": {\"tests\": [$results]}}" > /logs/verifier/ctrf.json
