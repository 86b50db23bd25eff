mod examples;
mod many;
mod properties;
mod simulate;
mod tape;
