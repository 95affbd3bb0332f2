//! Tests of campaigns through the public interface.

mod recorded;
