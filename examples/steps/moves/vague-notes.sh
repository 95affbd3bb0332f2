echo "Payments fail since a new release. There are several failures with the same error code." > HANDOVER.md
