{ echo '# Changes'; echo; sed 's/^#[0-9]* \[[a-z]*\] /- /' changes.txt; } >notes.md
