# For the tests of both steps: `reward NUMBER CHECK`.
reward() {
  local status=failed
  [ "$1" = 0 ] || status=passed
  echo "{\"reward\": $1}" > /logs/verifier/reward.json
  echo "{\"results\": {\"tests\": [{\"name\": \"$2\", \"status\": \"$status\"}]}}" > /logs/verifier/ctrf.json
}
