use interlock_formats::{Lines, NoWorkflows, Source, load, own_properties, properties_file};
use interlock_prove::{ProofOptions, prove};

#[test]
fn probe() {
    let files = std::env::var("PROBE").unwrap();
    for file in files.split(',') {
        let text = std::fs::read_to_string(file).unwrap();
        let source = Source::new(file, text);
        let loaded = load(&source, None, &NoWorkflows).unwrap();
        let mut properties = own_properties(&source, &loaded.machine).unwrap();
        let beside = file.replace(".yaml", ".properties.yaml");
        if let Ok(text) = std::fs::read_to_string(&beside) {
            properties.extend(properties_file(&Source::new(beside, text), &loaded.machine).unwrap());
        }
        let lines = Lines::of(&source);
        let begun = std::time::Instant::now();
        let proof = prove(&loaded.machine, &properties, &ProofOptions { states_max: 100_000, lines: Some(&lines) });
        println!("{file}: {} states, {} steps, {:?}", proof.states, proof.steps, begun.elapsed());
        for one in &proof.findings {
            println!("  {}: {} {}", one.name, one.verdict, one.message.clone().unwrap_or_default());
            for step in &one.trace {
                for line in &step.lines { println!("      {line} x{}", step.times); }
                for change in &step.changed { println!("          {change}"); }
            }
        }
        for one in &proof.assumptions { println!("  assume: {one}"); }
    }
}
