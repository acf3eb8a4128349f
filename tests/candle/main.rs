//! Tests of pe-candle.
