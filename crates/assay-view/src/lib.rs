//! Runs, trials, pairs and skills of a store in a browser.
