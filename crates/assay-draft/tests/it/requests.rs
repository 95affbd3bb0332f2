//! Rules of trigger requests: the sampler against its expected coverage, checks, reviews, pools.

use assay_draft::requests::{
    Checks, Decision, Opinion, Pool, Review, ReviewPrompt, SIZES, STYLES, Sampler, Skill, Skills,
    WritePrompt, decide,
};

fn skill(name: &str, description: &str, body: &str) -> Skill {
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n");
    Skill::new(name.to_owned(), name.to_owned(), description.to_owned(), text)
}

fn library() -> Skills {
    Skills::new(vec![
        skill(
            "orchard-inventory",
            "Counts fruit trees of an orchard and lists those to replace.",
            "Walk each row, write down the age of every tree, and mark trees above thirty years.",
        ),
        skill(
            "orchard-irrigation",
            "Plans water for the fruit trees of an orchard.",
            "Compute the litres for each row from soil and weather, and write a plan for the week.",
        ),
        skill(
            "choir-schedule",
            "Plans rehearsals of a choir.",
            "Collect the evenings on which the voices are free, and choose the earliest one with all of them.",
        ),
    ])
}

/// The distribution of requests of the first of two skills after some draws with weight 1/(requests so far + 1), computed
/// draw by draw: the first skill is drawn with probability (b + 1) / (a + b + 2), where a and b are the requests so far.
fn expected(draws: usize) -> Vec<f64> {
    let mut shares = vec![1.0];
    for so_far in 0..draws {
        let mut next = vec![0.0; so_far + 2];
        for (first, share) in shares.iter().enumerate() {
            let second = so_far - first;
            let probability = (second as f64 + 1.0) / (so_far as f64 + 2.0);
            next[first + 1] += share * probability;
            next[first] += share * (1.0 - probability);
        }
        shares = next;
    }
    shares
}

#[test]
fn coverage_is_that_of_the_weights() {
    const DRAWS: usize = 8;
    const RUNS: u32 = 4_000;
    let mut counts = [0_u32; DRAWS + 1];
    for seed in 0..u64::from(RUNS) {
        let mut sampler = Sampler::new(2, seed);
        for _ in 0..DRAWS {
            sampler.draw_of(1).unwrap();
        }
        counts[sampler.requests()[0] as usize] += 1;
    }
    let expected = expected(DRAWS);
    assert!((expected.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    // Pearson's statistic over the cells that expect at least 5 runs.
    let cells: Vec<(f64, f64)> = counts
        .iter()
        .zip(expected)
        .map(|(count, share)| (f64::from(*count), share * f64::from(RUNS)))
        .filter(|(_, expected)| *expected >= 5.0)
        .collect();
    let statistic: f64 = cells.iter().map(|(count, expected)| (count - expected).powi(2) / expected).sum();
    // The 0.999 quantile of chi-square with 8 degrees of freedom; there are at most 9 cells.
    assert!(cells.len() >= 6, "{cells:?}");
    assert!(statistic < 26.12, "{statistic}: {cells:?}");
    // Equal weights instead would give a binomial distribution, which this test tells apart.
    let binomial = |k: usize| {
        let ways: f64 = (0..k).map(|at| (DRAWS - at) as f64 / (at + 1) as f64).product();
        ways / 2_f64.powi(i32::try_from(DRAWS).unwrap()) * f64::from(RUNS)
    };
    let other: f64 = (0..=DRAWS).map(|k| (f64::from(counts[k]) - binomial(k)).powi(2) / binomial(k)).sum();
    assert!(other > 100.0, "{other}");
}

#[test]
fn sizes_have_their_probabilities() {
    const DRAWS: u32 = 20_000;
    let mut counts = [0_u32; 4];
    let mut styles = std::collections::BTreeMap::<&str, u32>::new();
    let mut sampler = Sampler::new(30, 7);
    for _ in 0..DRAWS {
        let draw = sampler.next_draw().unwrap();
        counts[draw.skills.len()] += 1;
        *styles.entry(draw.style.name).or_default() += 1;
    }
    for (size, probability) in SIZES {
        let (count, n) = (f64::from(counts[size]), f64::from(DRAWS));
        let deviation = (n * probability * (1.0 - probability)).sqrt();
        assert!((count - n * probability).abs() < 4.0 * deviation, "{size}: {count}");
    }
    let expected = f64::from(DRAWS) / STYLES.len() as f64;
    let statistic: f64 = styles.values().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
    // The 0.999 quantile of chi-square with 15 degrees of freedom.
    assert!(styles.len() == STYLES.len() && statistic < 37.7, "{statistic}: {styles:?}");
}

proptest::proptest! {
    #[test]
    fn draws_are_fair_and_repeatable(skills in 1_usize..40, seed in 0_u64..1_000, rounds in 1_usize..12) {
        let draws = skills * rounds;
        let (mut one, mut other) = (Sampler::new(skills, seed), Sampler::new(skills, seed));
        let mut drawn = 0;
        for _ in 0..draws {
            let draw = one.next_draw().unwrap();
            let same = other.next_draw();
            proptest::prop_assert_eq!(Some(&draw), same.as_ref());
            let mut unique = draw.skills.clone();
            unique.sort_unstable();
            unique.dedup();
            proptest::prop_assert_eq!(unique.len(), draw.skills.len());
            drawn += draw.skills.len();
        }
        let counts = one.requests();
        proptest::prop_assert_eq!(counts.iter().map(|count| *count as usize).sum::<usize>(), drawn);
        // Far below what equal weights allow: no skill has more than three times the mean and six.
        let mean = drawn as f64 / skills as f64;
        proptest::prop_assert!(f64::from(*counts.iter().max().unwrap()) <= 3.0 * mean + 6.0, "{:?}", counts);
    }

    #[test]
    fn pools_are_disjoint_and_complete(texts in proptest::collection::vec("[a-z]{1,12}", 1..60), seed in 0_u64..50) {
        for text in &texts {
            let own = skill("x", "y", text);
            let pool = Pool::of(&own.digest, seed);
            proptest::prop_assert_eq!(pool, Pool::of(&skill("x", "y", text).digest, seed));
        }
    }
}

#[test]
fn pools_are_halves_that_the_seed_decides() {
    let digests: Vec<_> =
        (0..2_000).map(|number| skill("x", "y", &format!("text {number}")).digest).collect();
    let training =
        |seed: u64| digests.iter().map(|digest| Pool::of(digest, seed) == Pool::Training).collect::<Vec<_>>();
    let (first, second) = (training(1), training(2));
    let count = first.iter().filter(|is_training| **is_training).count();
    assert!((880..1_120).contains(&count), "{count}");
    let same = first.iter().zip(&second).filter(|(one, other)| one == other).count();
    assert!((880..1_120).contains(&same), "{same}");
}

#[test]
fn discarded_draws_do_not_count() {
    let mut sampler = Sampler::new(3, 1);
    let draw = sampler.draw_of(2).unwrap();
    sampler.discard(&draw);
    assert_eq!(sampler.requests(), [0, 0, 0]);
    assert_eq!(sampler.draw_of(9).unwrap().skills.len(), 3);
    assert_eq!(Sampler::new(0, 1).next_draw(), None);
}

#[test]
fn requests_that_copy_name_or_repeat_are_dropped() {
    let skills = library();
    let orchard = skills.get(0);
    let mut checks = Checks::default();
    let mut check = |request: &str, expected: Option<&str>| {
        let found = checks.check(request, &[orchard]).err();
        assert_eq!(found.as_ref().map(assay_draft::requests::Fault::name), expected, "{request}: {found:?}");
    };
    let good =
        "My uncle left me 240 apple trees and I need to know which ones are too old to keep this winter";
    check(good, None);
    check(&good.replace("240", "250"), Some("near-duplicate"));
    check("Which trees are old", None);
    check("count trees", Some("length"));
    check("… ! … ! … !", Some("length"));
    check(&"tree ".repeat(151), Some("length"));
    check(&format!("count these trees {}", "x".repeat(1_200)), Some("length"));
    check("Run the Orchard Inventory on my forty trees near the river", Some("names-skill"));
    check("Please walk each row, write down the age of every tree, thanks a lot", Some("overlap"));
}

#[test]
fn overlap_is_the_share_of_the_requests_own_grams() {
    let skills = library();
    // 20 words and 18 3-grams, of which "every tree and" is one of the skill: 5.6%.
    let request = "Our gardener wants to see every tree and its picture on one big map before we sell the northern part";
    let found = assay_draft::requests::facts(request, [skills.get(0)]);
    assert!((found.overlap3 - 1.0 / 18.0).abs() < 1e-9, "{found:?}");
    assert_eq!(found.words, 20);
}

fn opinions(approvals: [bool; 3]) -> Vec<Opinion> {
    let opinion = |(review, approves)| Opinion { review, approves, reason: String::new() };
    Review::ALL.into_iter().zip(approvals).map(opinion).collect()
}

#[test]
fn two_of_three_go_to_a_person() {
    let check = |approvals: [bool; 3], expected: Decision| {
        assert_eq!(decide(&opinions(approvals)), expected, "{approvals:?}");
    };
    check([true, true, true], Decision::Accepted);
    check([true, false, true], Decision::Person(Review::Quality));
    check([true, true, false], Decision::Person(Review::Discriminability));
    check([false, true, false], Decision::Dropped);
    check([false, false, false], Decision::Dropped);
    // A review that is missing approves nothing.
    assert_eq!(decide(&opinions([true, true, true])[..2]), Decision::Dropped);
}

#[test]
fn discriminability_needs_exactly_the_gold_skills() {
    let skills = library();
    let request = "Which of our old fruit trees near the barn should be replaced this year?";
    let review = ReviewPrompt::new(Review::Discriminability, request, &[0], &[1], &skills);
    let ids: Vec<&str> = review.choices().collect();
    let letter =
        |id: &str| char::from(b'A' + u8::try_from(ids.iter().position(|own| *own == id).unwrap()).unwrap());
    let (gold, other) = (letter("orchard-inventory"), letter("orchard-irrigation"));
    let check = |reply: String, expected: Option<bool>| {
        assert_eq!(review.read(&reply).ok().map(|opinion| opinion.approves), expected, "{reply}");
    };
    check(format!("{{\"skills\": [\"{gold}\"], \"reason\": \"trees\"}}"), Some(true));
    check(format!("```json\n{{\"skills\": [\"{gold}\", \"{other}\"]}}\n```"), Some(false));
    check(format!("{{\"skills\": [\"{other}\"]}}"), Some(false));
    check("{\"skills\": []}".to_owned(), Some(false));
    check("{\"skills\": [\"Z\"]}".to_owned(), None);
    check("{\"verdict\": \"approve\"}".to_owned(), None);
    check("I choose A.".to_owned(), None);
    let opinion = review.read(&format!("{{\"skills\": [\"{gold}\"], \"reason\": \"trees\"}}")).unwrap();
    assert_eq!(opinion.reason, "chose orchard-inventory: trees");

    let quality = ReviewPrompt::new(Review::Quality, request, &[0], &[], &skills);
    assert!(!quality.prompt.text.contains("orchard-inventory"));
    assert!(quality.read("{\"verdict\": \"approve\", \"reason\": \"\"}").unwrap().approves);
    assert!(!quality.read("{\"verdict\": \"object\", \"reason\": \"vague\"}").unwrap().approves);
    assert!(quality.read("{\"verdict\": \"fine\"}").is_err());
}

#[test]
fn copies_are_no_neighbours_to_choose_from() {
    let mut all = library().all().to_vec();
    let mut copy = all[0].clone();
    copy.id = "copy".to_owned();
    all.push(copy);
    let skills = Skills::new(all);
    assert_eq!(skills.copies(0), [3]);
    assert_eq!(skills.copies(2), Vec::<usize>::new());
    let review = ReviewPrompt::new(Review::Discriminability, "replace fruit trees", &[0], &[], &skills);
    assert!(review.choices().all(|id| id != "copy"));
    assert_eq!(skills.neighbours(1).next(), Some(0));
}

#[test]
fn prompts_delimit_the_skills_and_have_versions() {
    let skills = library();
    let prompt = WritePrompt::Positive(vec![skills.get(0), skills.get(2)]).prompt(STYLES[0]);
    assert!(prompt.system.contains("NO_NATURAL_REQUEST"));
    assert_eq!(prompt.text.matches("\nBEGIN ").count(), 2);
    assert!(prompt.text.contains(STYLES[0].text) && prompt.text.contains("SKILL 2"));
    assert!(prompt.file.label().starts_with("requests-write/1:"), "{}", prompt.file.label());
    let negative = WritePrompt::Negative { neighbour: skills.get(0), skill: skills.get(1) }.prompt(STYLES[1]);
    let place = |part: &str| negative.text.find(part).unwrap();
    assert!(place("name: orchard-inventory") < place("name: orchard-irrigation"));
    assert!(negative.file.label().starts_with("requests-negative/1:"));
}
