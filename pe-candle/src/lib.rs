//! Candle layers.
