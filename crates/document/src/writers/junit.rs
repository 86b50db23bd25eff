//! JUnit XML, which CI systems show as a list of tests
//! (<https://github.com/testmoapp/junitxml>).

use quick_xml::Writer as Xml;
use quick_xml::events::BytesText;

use crate::forms::{Check, Form};
use crate::writers::Writer;

pub const JUNIT: Writer = Writer {
    name: "junit",
    endings: &["xml"],
    form: Form::Checks,
    mark: "\u{0}",
    write: |subject, _| {
        let name = subject.name();
        Some(written(name, &subject.checks()?).map_err(Into::into))
    },
};

fn written(name: &str, checks: &[Check]) -> std::io::Result<String> {
    let count = |is: fn(&Check) -> bool| checks.iter().filter(|check| is(check)).count().to_string();
    let mut xml = Xml::new_with_indent(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_vec(), b' ', 1);
    let suite = xml.create_element("testsuite").with_attributes([
        ("name", name),
        ("tests", checks.len().to_string().as_str()),
        ("failures", count(|check| check.failure.is_some()).as_str()),
        ("skipped", count(|check| check.skipped.is_some()).as_str()),
    ]);
    suite.write_inner_content(|xml| {
        for check in checks {
            let case = xml.create_element("testcase").with_attributes(
                [("classname", plain(&check.class)), ("name", plain(&check.name))]
                    .iter()
                    .map(|(key, value)| (*key, value.as_str())),
            );
            match (&check.failure, &check.skipped) {
                (None, None) => drop(case.write_empty()?),
                (Some(reason), _) => drop(case.write_inner_content(|xml| inner(xml, "failure", reason))?),
                (None, Some(reason)) => drop(case.write_inner_content(|xml| inner(xml, "skipped", reason))?),
            }
        }
        Ok(())
    })?;
    Ok(String::from_utf8_lossy(&xml.into_inner()).into_owned() + "\n")
}

fn inner(xml: &mut Xml<Vec<u8>>, tag: &str, reason: &str) -> std::io::Result<()> {
    let reason = plain(reason);
    let first = reason.lines().next().unwrap_or_default().to_owned();
    xml.create_element(tag)
        .with_attribute(("message", first.as_str()))
        .write_text_content(BytesText::new(&reason))
        .map(drop)
}

/// Without what XML 1.0 has no way to say.
fn plain(text: &str) -> String {
    text.chars().filter(|c| matches!(c, '\t' | '\n' | ' '..='\u{fffd}' | '\u{10000}'..)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_tests_is_sound_whatever_names_hold() {
        let check = |name: &str, failure: Option<&str>, skipped: Option<&str>| Check {
            class: "ext4".into(),
            name: name.into(),
            failure: failure.map(str::to_owned),
            skipped: skipped.map(str::to_owned),
        };
        let checks = [
            check("a<b & \"c\"\u{1}", None, None),
            check("d", Some("worse: 2 % > 1 %\nwhy]]>"), None),
            check("e", None, Some("not judged")),
        ];
        let text = written("checks", &checks).unwrap();
        let mut reader = quick_xml::Reader::from_str(&text);
        let mut names = Vec::new();
        loop {
            use quick_xml::events::Event;
            match reader.read_event().unwrap() {
                Event::Eof => break,
                Event::Start(tag) | Event::Empty(tag) => {
                    names.push(String::from_utf8_lossy(tag.name().as_ref()).into_owned());
                    for attribute in tag.attributes() {
                        attribute.unwrap();
                    }
                }
                _ => {}
            }
        }
        assert_eq!(names, ["testsuite", "testcase", "testcase", "failure", "testcase", "skipped"]);
        assert!(text.contains("tests=\"3\" failures=\"1\" skipped=\"1\""), "{text}");
        assert!(
            text.contains("a&lt;b &amp; &quot;c&quot;\"") && text.contains("message=\"worse: 2 % &gt; 1 %\""),
            "{text}"
        );
    }
}
