//! The guide shows pieces of programs that run: `<!-- PATH -->` before a block names the file it is taken from.

use crate::root;
use std::fs;

#[test]
fn the_guide_shows_programs_as_they_are() {
    let guide = fs::read_to_string(root().join("docs/guide/transactions.md")).unwrap();
    let mut pieces = 0;
    for piece in guide.split("<!-- ").skip(1) {
        let (path, rest) = piece.split_once(" -->\n```").expect("a comment names the file of the block that follows");
        let (block, _) = rest.split_once("\n```").expect("a block ends");
        let (_, block) = block.split_once('\n').expect("a block has lines");
        let file = fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut known = file.lines().map(str::trim);
        for line in block.lines().map(str::trim).filter(|line| !line.is_empty()) {
            assert!(known.any(|known| known == line), "not in {path}, or not in this order: {line}");
        }
        pieces += 1;
    }
    let blocks = ["```rust", "```python", "```sql"].iter().map(|fence| guide.matches(fence).count()).sum::<usize>();
    assert_eq!(pieces, blocks, "every block of a program names its file");
    assert!(pieces >= 6, "{pieces}");
}
