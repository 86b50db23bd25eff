//! Paths of calls with times.

/// A stack and its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// From the outermost on.
    pub frames: Vec<String>,
    /// Nanoseconds; several where things are compared.
    pub times: Vec<u64>,
}

impl Stack {
    /// Without a line feed.
    pub fn line(&self) -> String {
        // Both signs have a meaning for those who read these lines.
        let clean = |frame: &String| frame.replace(';', ",").replace('\n', " ");
        let frames: Vec<String> = self.frames.iter().map(clean).collect();
        let times: Vec<String> = self.times.iter().map(u64::to_string).collect();
        format!("{} {}", frames.join(";"), times.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_a_line() {
        let frames = ["cp", "a;b", "c d"].map(str::to_owned).to_vec();
        assert_eq!(Stack { frames, times: vec![1, 20] }.line(), "cp;a,b;c d 1 20");
    }
}
