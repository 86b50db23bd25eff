//! What a build's log says of its failure.

/// Lines that follow the head of an error, where that says nothing itself.
const MORE: usize = 2;
/// Marks of what went wrong, the most telling first: of the kernel, a compiler, configure, and make.
const MARKS: [&str; 5] = ["Killed signal", "fatal error: ", " error: ", "configure: error:", "*** "];

/// The last real error in a log: what the compiler said, rather than that make gave up.
pub(super) fn last_error(log: &str) -> String {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let found = MARKS.iter().find_map(|mark| lines.iter().rposition(|line| line.contains(mark)));
    let Some(at) = found else { return lines.last().copied().unwrap_or("it said nothing").to_owned() };
    let more = if lines[at].ends_with(':') { MORE } else { 0 };
    lines[at..lines.len().min(at + 1 + more)].join(" ")
}

/// Whether a build ended for want of memory, or of room on the disk: then it may work another time.
pub(super) fn is_for_want(log: &str) -> bool {
    log.contains(MARKS[0]) || log.contains("No space left on device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_error_counts_before_makes() {
        let log = "  CC [M]  a.o\na.c:3:5: error: 'x' undeclared\nb.c:1:1: warning: odd\nmake[2]: *** [a.o] Error 1\nmake: *** all\n";
        assert_eq!(last_error(log), "a.c:3:5: error: 'x' undeclared");
        let configure = "checking a\nconfigure: error:\n\t*** None of the interfaces\n\t*** were detected.\n\tend\n";
        assert_eq!(last_error(configure), "configure: error: *** None of the interfaces *** were detected.");
        assert_eq!(last_error("a\nmake: *** [x] Error 2\nb\n"), "make: *** [x] Error 2");
        assert_eq!((last_error("one\ntwo\n"), last_error("")), ("two".into(), "it said nothing".into()));
        assert!(is_for_want("gcc: fatal error: Killed signal terminated program cc1") && !is_for_want(log));
    }
}
