#!/bin/bash
reward() { echo "$1" > /logs/verifier/reward.txt; }
if [ "$(cat /app/answer.txt)" = right ]; then s=passed; reward 1; else s=failed; reward 0; fi
echo '{"results":{"tests":[{"name":"the word is right","status":"'$s'"}]}}' > /logs/verifier/ctrf.json
