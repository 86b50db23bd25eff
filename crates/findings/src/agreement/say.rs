//! Sentences about how far the virtual lab's orders agree with a real machine's.

use mountmark_document::number::{and, counted};
use mountmark_document::text::titled;
use mountmark_model::heading;

use crate::agreement::find::{AgreedTask, Marked, ModelAgreement, Trust, Unfit};

/// What a report of the virtual lab says about its model.
pub(crate) fn trust(trust: &Trust) -> String {
    if trust.machines.is_empty() {
        return "The virtual lab is a model. No real machine has been compared with it for this suite (mountmark compare \
                VIRTUAL REAL --agreement)."
            .into();
    }
    let machines = and(&trust.machines);
    if trust.told == 0 {
        return format!(
            "The virtual lab is a model. The real machines compared so far ({machines}) told nothing apart."
        );
    }
    let agreed = trust.told - trust.misleads.len();
    let misleads = match trust.misleads.is_empty() {
        true => String::new(),
        false => format!("; not in: {}", trust.misleads.join(", ")),
    };
    format!(
        "The virtual lab is a model. On the real machines compared so far ({machines}) file systems came in its order in \
         {agreed} of {}{misleads}.",
        counted(trust.told, "test", "tests")
    )
}

/// Why two runs say nothing about the model.
pub fn unfit(reason: Unfit, model: &str, machine: &str) -> String {
    match reason {
        Unfit::NoModel => format!("{model} was measured under wall time: name a run of the virtual lab first"),
        Unfit::NoMachine => {
            format!("{machine} is a run of the virtual lab: name one of a real machine second (--lab host, --lab kvm)")
        }
        Unfit::NothingCommon => format!("{model} and {machine} have no file system in common"),
    }
}

/// The answer in one or two sentences.
pub(crate) fn answer(found: &ModelAgreement) -> String {
    let told: Vec<&AgreedTask> = found.tasks.iter().filter(|task| !task.step && task.counts.told > 0).collect();
    let all = found.tasks.iter().filter(|task| !task.step).count();
    if told.is_empty() {
        return format!(
            "The real machine tells nothing apart in {}: that needs repeats, or a quieter machine.",
            counted(all, "test", "tests")
        );
    }
    let agreed = told.iter().filter(|task| task.counts.agrees() == Some(true)).count();
    let tau = found.tau.map_or(String::new(), |tau| format!(" Median tau over these tests: {tau:.2}."));
    format!(
        "The real machine tells file systems apart in {} of {}. In {agreed} of them the model has its order.{tau}",
        told.len(),
        counted(all, "test", "tests")
    )
}

/// How the orders come that the model's run marks as holding; `None` if it marks none.
pub(crate) fn marked(found: &ModelAgreement) -> Option<String> {
    let Marked { orders, told, same } = found.marked.as_ref()?;
    Some(format!(
        "The model's run marks {} of two file systems as holding for every machine in the range of costs. The real machine tells {told} of \
         these pairs apart, {same} of them in that order.",
        counted(*orders, "order", "orders")
    ))
}

/// Tests in which the model misleads, each with the pairs that it has the other way round.
pub(crate) fn misleading(found: &ModelAgreement) -> Vec<String> {
    let wrong = found.tasks.iter().filter(|task| task.counts.agrees() == Some(false));
    let sentence = |task: &AgreedTask| {
        let name = |one: usize| heading(&found.configurations[one]);
        let pairs = task.reversed.iter().map(|(better, worse)| format!("{} before {}", name(*better), name(*worse)));
        let pairs: Vec<String> = pairs.collect();
        let close = task.counts.told - task.counts.same - task.counts.reversed;
        let mut parts = Vec::new();
        if !pairs.is_empty() {
            parts.push(format!("the machine has {}, the model the reverse", and(&pairs)));
        }
        if close > 0 {
            let pairs =
                counted(close as usize, "pair that the machine tells apart", "pairs that the machine tells apart");
            parts.push(format!("the model sees no difference in {pairs}"));
        }
        format!("{}: {}", titled(&task.counts.task, &task.title), parts.join("; "))
    };
    wrong.map(sentence).collect()
}

/// How the table is to be read.
pub(crate) fn remarks() -> Vec<String> {
    vec![
        "told apart: pairs of file systems that the real machine's run shows to differ; of these, how many the model has in the \
         same and in the reverse order. The others are closer than 1 % in the model."
            .into(),
        "order: yes if at most a quarter of these pairs is reversed, and equal pairs count half.".into(),
        "tau: Kendall's tau-b (Biometrika 33, 1945) of the medians of all file systems, told apart or not: 1 the same order, \
         -1 the reverse; its 95 % interval is exact under Mallows' model, and wide with few file systems."
            .into(),
        "machine/model: the real machine's figure over the model's, geometric mean over file systems. A model of another \
         computer is faster or slower; what matters is the order."
            .into(),
    ]
}
