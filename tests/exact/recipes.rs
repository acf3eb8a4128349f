//! The f32 recipes against what torch and NumPy compute.

use pe_core::{Base, Error, Preset, Recipe, SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing};
use pe_tests::{golden, tolerance};

/// Number of floats between two of the same sign; differently signed values
/// count from zero.
fn ulps(a: f32, b: f32) -> u32 {
    let key = |x: f32| {
        let bits = x.to_bits() as i32;
        i64::from(if bits < 0 {
            i32::MIN.wrapping_sub(bits)
        } else {
            bits
        })
    };
    key(a).abs_diff(key(b)) as u32
}

fn bits(text: &str) -> f32 {
    f32::from_bits(u32::from_str_radix(text, 16).unwrap())
}

fn encoding(d: usize, base: f64, recipe: Recipe) -> Sinusoidal {
    Sinusoidal::new(SinusoidalConfig {
        base: Base::Value(base),
        layout: SinusoidLayout::Concatenated,
        recipe,
        ..SinusoidalConfig::new(d)
    })
    .unwrap()
}

#[test]
fn recipes_are_within_an_ulp_or_two_of_torch_and_numpy() {
    // An angle is a position under a frequency of one radian per position.
    let radian = encoding(2, 10000.0, Recipe::Exact);
    let mut counts = [0; 4];
    let mut encodings = std::collections::HashMap::new();
    for row in golden::rows("recipes.csv") {
        let (library, recipe) = (row[0].as_str(), row[1].as_str());
        let (kind, recipe) = match recipe {
            "exp-f32" => (0, Recipe::ExpF32),
            "pow-f32" => (1, Recipe::PowF32),
            other => panic!("unknown recipe {other}"),
        };
        let d: usize = row[2].parse().unwrap();
        let base: f64 = row[3].parse().unwrap();
        let pair: usize = row[4].parse().unwrap();
        let position: u32 = row[5].parse().unwrap();
        let ours = encodings
            .entry((d, base as u64, kind))
            .or_insert_with(|| encoding(d, base, recipe));
        let inv_freq_bound = match library {
            "torch" => tolerance::RECIPE_INV_FREQ_ULP_TORCH,
            "numpy" => tolerance::RECIPE_INV_FREQ_ULP_NUMPY,
            other => panic!("unknown library {other}"),
        };
        let theirs = bits(&row[6]);
        let inv_freq = ours.inv_freq()[pair] as f32;
        assert!(
            ulps(inv_freq, theirs) <= inv_freq_bound,
            "inv_freq {inv_freq} against {theirs}: {row:?}"
        );
        // The angle is one f32 product.
        let angle = bits(&row[7]);
        assert_eq!(angle, position as f32 * theirs, "{row:?}");
        // The functions of the library's own angle.
        let [sine, cosine]: [f32; 2] = radian
            .table_at_reals::<f32>(&[f64::from(angle)])
            .unwrap()
            .into_vec()
            .try_into()
            .unwrap();
        for (ours, theirs) in [(sine, bits(&row[8])), (cosine, bits(&row[9]))] {
            assert!(
                ulps(ours, theirs) <= tolerance::RECIPE_FUNCTION_ULP,
                "{ours} against {theirs}: {row:?}"
            );
        }
        // End to end the position multiplies a difference of frequencies.
        let row_of_table = ours.table_at::<f32>(&[position]).unwrap();
        if position < 5_000 {
            let bound = match library {
                "torch" => tolerance::RECIPE_TABLE_TORCH,
                _ => tolerance::RECIPE_TABLE_NUMPY,
            };
            for (column, theirs) in [(pair, bits(&row[8])), (d / 2 + pair, bits(&row[9]))] {
                let ours = row_of_table.get(0, column).unwrap();
                assert!(
                    f64::from(ours - theirs).abs() <= bound,
                    "{ours}, {theirs}: {row:?}"
                );
            }
        }
        // Where the frequencies agree the tables follow from them alone.
        if inv_freq == theirs {
            assert_eq!(row_of_table.get(0, pair), Some(sine));
            assert_eq!(row_of_table.get(0, d / 2 + pair), Some(cosine));
            counts[2 * usize::from(library == "numpy") + kind] += 1;
        }
    }
    // Most frequencies agree to the bit; else the test above compared nothing.
    for (count, least) in counts.into_iter().zip([5_500, 5_500, 2_500, 4_000]) {
        assert!(count > least, "{counts:?}");
    }
}

/// The bits of the recipes, for bases on both sides of 1 and beyond f32.
#[test]
fn frequencies_are_rounded_where_the_recipe_rounds() {
    let mut seen = std::collections::BTreeMap::new();
    let mut encodings = std::collections::HashMap::new();
    for row in golden::rows("recipe_frequencies.csv") {
        let recipe = [Recipe::ExpF32, Recipe::PowF32]
            .into_iter()
            .find(|recipe| recipe.name() == row[0])
            .unwrap();
        let spacing = golden::spacing(&row[1]);
        let made = encodings.entry(row[..4].to_vec()).or_insert_with(|| {
            Sinusoidal::new(SinusoidalConfig {
                base: golden::base(row[3].parse().unwrap()),
                spacing,
                recipe,
                ..SinusoidalConfig::new(row[2].parse().unwrap())
            })
            .unwrap()
            .inv_freq()
        });
        let found = made[row[4].parse::<usize>().unwrap()] as f32;
        assert_eq!(found.to_bits(), bits(&row[5]).to_bits(), "{found}: {row:?}");
        *seen.entry((recipe.name(), spacing.name())).or_insert(0) += 1;
    }
    let counts: Vec<_> = seen.into_iter().collect();
    assert_eq!(
        counts,
        [
            (("exp-f32", "inclusive"), 600),
            (("exp-f32", "paper"), 600),
            (("pow-f32", "paper"), 600)
        ]
    );
}

/// fairseq's and Whisper's own tables, in f32 by torch: the recipe has them but for a unit of some functions'
/// results, of which exact entries are thousands away.
#[test]
fn inclusive_recipe_is_that_of_fairseq_and_whisper() {
    let golden: serde_json::Value = golden::json("presets.json");
    let (mut of_recipe, mut of_exact, mut equal, mut all) = (0.0, 0.0, 0, 0);
    for case in golden["cases"].as_array().unwrap() {
        let preset = match case["preset"].as_str().unwrap() {
            "fairseq" => Preset::Fairseq,
            "whisper" => Preset::Whisper,
            _ => continue,
        };
        let list = |values: &serde_json::Value| -> Vec<f64> {
            let values = values.as_array().unwrap().iter();
            values.map(|value| value.as_f64().unwrap()).collect()
        };
        let exact = preset.config(case["d"].as_u64().unwrap() as usize);
        let recipe = SinusoidalConfig {
            recipe: Recipe::ExpF32,
            ..exact
        };
        let positions = list(&case["positions"]);
        let table = |config| {
            let encoding = Sinusoidal::new(config).unwrap();
            encoding.table_at_reals::<f32>(&positions).unwrap()
        };
        let (recipe, exact) = (table(recipe), table(exact));
        let columns: Vec<usize> = match case["columns"].is_null() {
            true => (0..recipe.width()).collect(),
            false => list(&case["columns"]).iter().map(|c| *c as usize).collect(),
        };
        for (row, expected) in case["values"].as_array().unwrap().iter().enumerate() {
            for (column, expected) in columns.iter().zip(list(expected)) {
                let off = |table: &pe_core::Table<f32>| {
                    (f64::from(table.get(row, *column).unwrap()) - expected).abs()
                };
                of_recipe = off(&recipe).max(of_recipe);
                of_exact = off(&exact).max(of_exact);
                equal += usize::from(off(&recipe) == 0.0);
                all += 1;
            }
        }
    }
    assert!(all > 1_500, "{all}");
    let what = format!("{of_recipe:e}, exact {of_exact:e}, {equal} of {all}");
    assert!(
        of_recipe <= tolerance::RECIPE_TABLE_SAME_FREQUENCIES,
        "{what}"
    );
    assert!(equal * 10 > 9 * all, "{what}");
    assert!(of_exact > 1e-4, "{what}");
}

/// A recipe does not compute values that it does not define.
#[test]
fn recipes_refuse_other_spacings() {
    let shifted = Spacing::Shifted(0.5);
    for (recipe, spacing) in [
        (Recipe::ExpF32, shifted),
        (Recipe::PowF32, shifted),
        (Recipe::PowF32, Spacing::Inclusive),
    ] {
        let error = Sinusoidal::new(SinusoidalConfig {
            recipe,
            spacing,
            ..SinusoidalConfig::new(8)
        })
        .unwrap_err();
        let expected = Error::Recipe {
            recipe: recipe.name(),
            spacing: spacing.name(),
        };
        assert_eq!(error, expected);
    }
}

/// E3: the recipe's error against the exact table, at the documents' size.
#[test]
fn e3_the_f32_recipe_errs_by_some_1e_4_and_ours_does_not() {
    let recipe = encoding(512, 10000.0, Recipe::ExpF32)
        .table::<f32>(0..5000)
        .unwrap();
    let exact = encoding(512, 10000.0, Recipe::Exact)
        .table::<f32>(0..5000)
        .unwrap();
    let truth = encoding(512, 10000.0, Recipe::Exact)
        .table::<f64>(0..5000)
        .unwrap();
    let worst = |table: &pe_core::Table<f32>| {
        table
            .as_slice()
            .iter()
            .zip(truth.as_slice())
            .map(|(a, b)| (f64::from(*a) - b).abs())
            .fold(0.0, f64::max)
    };
    let recipe_error = worst(&recipe);
    assert!((2e-4..6e-4).contains(&recipe_error), "{recipe_error}");
    assert!(worst(&exact) <= tolerance::HALF_ULP_BELOW_ONE);
    // The recipe is thousands of units away, as documented.
    let off = recipe
        .as_slice()
        .iter()
        .zip(exact.as_slice())
        .map(|(a, b)| ulps(*a, *b))
        .max();
    assert!(off > Some(1_000), "{off:?}");
}

/// The wavelength of a recipe is that of its f32 frequency.
#[test]
fn wavelengths_of_a_recipe() {
    // 10000^(-2i / 6) to f32, as NumPy has it: 1, 0.04641589, 0.0021544348.
    let found = encoding(6, 10000.0, Recipe::PowF32).wavelengths();
    let wanted = [std::f64::consts::TAU, 135.3671, 2916.3967];
    assert_eq!(found.len(), 3);
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(
            (found / wanted - 1.0).abs() < tolerance::SEVEN_DIGITS,
            "{found} {wanted}"
        );
    }
}
