grep ' payment-failed ' data/events.log > /tmp/failed
{
  echo "# Failed payments"
  echo "release: $(cut -d' ' -f3 /tmp/failed | sort -u)"
  echo "code: $(cut -d' ' -f5 /tmp/failed | sort -u)"
  echo "failed: $(wc -l < /tmp/failed)"
  echo "first_failure: $(head -1 /tmp/failed | cut -d' ' -f1)"
} > HANDOVER.md
cat HANDOVER.md
