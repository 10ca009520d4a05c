//! Lines from each task of a graph to those that need its result, drawn beside a list of the tasks.

use super::pen::Pen;

/// Lines that may run side by side.
const LANES: usize = 16;

/// A row for each task, with its mark in it; none when too many lines run side by side.
///
/// `needs` has for each task the rows of those that it needs, all above its own.
pub(super) fn lay(needs: &[Vec<usize>], marks: &[&str], pen: Pen) -> Option<Vec<String>> {
    // How many tasks are still to come that need this one.
    let mut open = vec![0_usize; needs.len()];
    for &need in needs.iter().flatten() {
        open[need] += 1;
    }
    // In each column, the task whose line runs down it.
    let mut lanes: Vec<Option<usize>> = Vec::new();
    let mut rows = Vec::with_capacity(needs.len());
    for (task, needed) in needs.iter().enumerate() {
        for &need in needed {
            open[need] -= 1;
        }
        let joins = |lane: Option<usize>| lane.is_some_and(|from| needed.contains(&from));
        let ends = |lane: Option<usize>| {
            lane.is_some_and(|from| needed.contains(&from) && open[from] == 0)
        };
        let column = lanes.iter().position(|&lane| ends(lane));
        let column = column.or_else(|| lanes.iter().position(Option::is_none));
        let column = column.unwrap_or(lanes.len());
        if column == lanes.len() {
            lanes.push(None);
        }
        if lanes.len() > LANES {
            return None;
        }
        let first = lanes.iter().position(|&lane| joins(lane)).map_or(column, |at| at.min(column));
        let last = lanes.iter().rposition(|&lane| joins(lane)).map_or(column, |at| at.max(column));
        let mut row = String::new();
        for (at, &lane) in lanes.iter().enumerate() {
            let (left, right) = (first < at && at <= last, first <= at && at < last);
            row.push_str(if at == column {
                marks[task]
            } else if joins(lane) {
                joint(!ends(lane), left, right, pen)
            } else if lane.is_some() {
                // Whatever crosses it passes behind.
                pen.pick("│", "|")
            } else if left && right {
                pen.pick("─", "-")
            } else {
                " "
            });
            row.push_str(if right { pen.pick("─", "-") } else { " " });
        }
        rows.push(row.trim_end().to_owned());
        for lane in &mut lanes {
            if ends(*lane) {
                *lane = None;
            }
        }
        lanes[column] = (open[task] > 0).then_some(task);
        while lanes.last() == Some(&None) {
            lanes.pop();
        }
    }
    Some(rows)
}

/// Where a line from above is joined by one from the side.
const fn joint(goes_on: bool, left: bool, right: bool, pen: Pen) -> &'static str {
    match (goes_on, left, right) {
        (true, true, true) => pen.pick("┼", "+"),
        (true, true, false) => pen.pick("┤", "+"),
        (true, false, _) => pen.pick("├", "+"),
        (false, true, true) => pen.pick("┴", "+"),
        (false, true, false) => pen.pick("╯", "'"),
        (false, false, _) => pen.pick("╰", "`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(needs: &[&[usize]]) -> Vec<String> {
        let needs: Vec<_> = needs.iter().map(|needs| needs.to_vec()).collect();
        lay(&needs, &vec!["o"; needs.len()], Pen::Unicode).unwrap()
    }

    #[test]
    fn lines_lead_to_who_needs_them() {
        assert_eq!(laid(&[&[]]), ["o"]);
        assert_eq!(laid(&[&[], &[0], &[1]]), ["o", "o", "o"]);
        assert_eq!(laid(&[&[], &[0], &[0], &[1, 2]]), ["o", "├─o", "o │", "o─╯"]);
        assert_eq!(
            laid(&[&[], &[0], &[0], &[0], &[1, 2, 3]]),
            ["o", "├─o", "├─│─o", "o │ │", "o─┴─╯"]
        );
        assert_eq!(laid(&[&[], &[], &[1], &[0, 2]]), ["o", "│ o", "│ o", "o─╯"]);
        assert_eq!(
            laid(&[&[], &[], &[], &[0, 2], &[1], &[3, 4]]),
            ["o", "│ o", "│ │ o", "o─│─╯", "│ o", "o─╯"]
        );
    }

    #[test]
    fn too_many_lines_are_none() {
        let mut needs = vec![vec![]; LANES];
        needs.push((0..LANES).collect());
        let marks = vec!["o"; LANES + 2];
        assert!(lay(&needs, &marks, Pen::Ascii).is_some());
        needs.insert(0, vec![]);
        needs[LANES + 1] = (0..=LANES).collect();
        assert_eq!(lay(&needs, &marks, Pen::Ascii), None);
    }
}
