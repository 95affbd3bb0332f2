//! A daemon that goes away and comes back. It is one of the test's own, so that no other test sees it go.
