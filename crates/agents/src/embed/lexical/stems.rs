//! Forms of one word become one, and words that say nothing are known as such.
//!
//! Both languages lose their ending once, by a list. That is rougher than a real stemmer, and as good here: what counts
//! is that two forms meet, not that the stem is right, and the pieces of the stem meet where the stems do not.

/// How much of a word has to stay.
const SHORTEST_STEM: usize = 3;

/// Words that say nothing of what an English text is about. Sorted.
#[rustfmt::skip]
const STOPS_ENGLISH: &[&str] = &[
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "between", "both", "but", "by", "can", "could", "did", "do", "does", "during",
    "each", "few", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "just", "let", "many", "me", "more", "most", "much", "my", "no",
    "not", "of", "often", "on", "one", "only", "or", "other", "our", "out", "over", "own", "same",
    "she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us", "very",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why",
    "will", "with", "would", "you", "your",
];

/// The same in Russian. Sorted.
#[rustfmt::skip]
const STOPS_RUSSIAN: &[&str] = &[
    "а", "без", "бы", "был", "была", "были", "было", "быть", "в", "вам", "вас", "во", "вот", "все",
    "вы", "где", "да", "для", "до", "его", "ее", "если", "есть", "еще", "же", "за", "зачем", "и",
    "из", "или", "им", "их", "к", "как", "какая", "какие", "какой", "каком", "какую", "когда",
    "кого", "которые", "который", "кто", "ли", "либо", "мне", "можно", "мы", "на", "над", "надо",
    "нам", "нас", "наш", "не", "него", "нее", "ней", "нет", "ними", "них", "но", "ну", "нужно", "о",
    "об", "он", "она", "они", "оно", "от", "по", "под", "после", "потому", "почему", "при", "про",
    "с", "сколько", "со", "так", "также", "такой", "там", "те", "тем", "то", "того", "той",
    "только", "том", "ты", "у", "уже", "чего", "чем", "через", "что", "чтобы", "чья", "эта", "эти",
    "это", "этого", "этой", "этот", "я",
];

/// Of nouns, adjectives, verbs and what is made of them. Sorted.
#[rustfmt::skip]
const ENDINGS_RUSSIAN: &[&str] = &[
    "а", "ал", "ала", "али", "ам", "ами", "ан", "ана", "ание", "анием", "ании", "аний", "анию",
    "ания", "анный", "ано", "аны", "ат", "ать", "ах", "ая", "вший", "е", "ев", "его", "ее", "ей",
    "ел", "ели", "ело", "ем", "ему", "ен", "ена", "ение", "ением", "ении", "ений", "ению", "ения",
    "енный", "ено", "ены", "ет", "ете", "ется", "еть", "ешь", "и", "ие", "ией", "ием", "ии", "ий",
    "ил", "ила", "или", "ило", "им", "ими", "ировал", "ировали", "ировать", "ирует", "ит", "ите",
    "ится", "ить", "их", "ишь", "ию", "ия", "иям", "иями", "иях", "й", "л", "ла", "лась", "ли",
    "лись", "ло", "лось", "лся", "н", "на", "нная", "нное", "нные", "нный", "но", "ны", "о", "ов",
    "ованный", "овать", "ого", "ое", "ой", "ом", "ому", "остей", "ости", "ость", "остью", "остям",
    "сь", "ся", "ти", "тся", "ть", "ться", "у", "уем", "ует", "уешь", "ут", "уть", "ую", "уют",
    "щий", "ы", "ые", "ый", "ым", "ыми", "ых", "ь", "ье", "ью", "ья", "ю", "ют", "ются", "ющий",
    "юю", "я", "ям", "ями", "ят", "ятся", "ять", "ях", "яя",
];

/// Also those that make one kind of word of another. Sorted.
#[rustfmt::skip]
const ENDINGS_ENGLISH: &[&str] = &[
    "able", "al", "ally", "ance", "ate", "ated", "ates", "ating", "ation", "ations", "e", "ed",
    "ence", "er", "ers", "es", "ible", "ied", "ies", "ing", "ings", "ion", "ions", "ity", "ive",
    "ly", "ment", "ments", "ness", "or", "ors", "s",
];

/// Whether it is among the words that every text has.
pub fn is_stop(word: &str) -> bool {
    STOPS_ENGLISH.binary_search(&word).is_ok() || STOPS_RUSSIAN.binary_search(&word).is_ok()
}

/// The word without its ending. It has to be in small letters.
pub fn stem(word: &str) -> &str {
    match word.chars().next_back() {
        Some('а'..='я') => without_ending(reflexive(word), ENDINGS_RUSSIAN),
        Some('a'..='z') if word.bytes().all(|byte| byte.is_ascii_lowercase()) => {
            bare(without_ending(word, ENDINGS_ENGLISH))
        }
        Some(_) | None => word,
    }
}

/// `-ся` stands behind the ending.
fn reflexive(word: &str) -> &str {
    let short = word.strip_suffix("ся").or_else(|| word.strip_suffix("сь"));
    short.filter(|short| short.chars().nth(SHORTEST_STEM).is_some()).unwrap_or(word)
}

/// Without the longest ending that leaves enough of the word.
fn without_ending<'a>(word: &'a str, endings: &[&str]) -> &'a str {
    let mut starts = word.char_indices().map(|(start, _)| start).skip(SHORTEST_STEM);
    let start = starts.find(|start| endings.binary_search(&&word[*start..]).is_ok());
    start.map_or(word, |start| &word[..start])
}

/// What still differs without the ending: `stopp` of `stopped` is `stop`, while `tell` and `pass` stay; `retry` is
/// `retr` like `retries`, while `deploy` stays.
fn bare(stem: &str) -> &str {
    let is_vowel = |byte: &u8| b"aeiou".contains(byte);
    match stem.as_bytes() {
        [_, _, .., before, b'y'] if !is_vowel(before) => &stem[..stem.len() - 1],
        [_, .., a, b]
            if a == b && stem.len() > SHORTEST_STEM && !is_vowel(b) && !b"ls".contains(b) =>
        {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        for list in [STOPS_ENGLISH, STOPS_RUSSIAN, ENDINGS_ENGLISH, ENDINGS_RUSSIAN] {
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn forms_of_a_word_meet() {
        for forms in [
            &["сервер", "сервера", "серверу", "сервером", "серверы", "серверов", "серверах"][..],
            &["настройка", "настройки", "настройке", "настройкой", "настройку"],
            &["проверка", "проверки", "проверку", "проверках"],
            &["миграция", "миграции", "миграцию", "миграцией"],
            &["deploy", "deploys", "deployed", "deploying", "deployment", "deployments"],
            &["migrate", "migrated", "migration", "migrations", "migrates"],
            &["stop", "stops", "stopped", "stopping"],
            &["retry", "retries", "retried", "retrying"],
            &["configure", "configured", "configuration", "configuring"],
            &["connect", "connection", "connections", "connecting"],
        ] {
            let stems: Vec<&str> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
        }
    }

    #[test]
    fn short_words_and_numbers_stay() {
        for word in ["", "7", "он", "лед", "bus", "e2e", "日本"] {
            assert_eq!(stem(word), word);
        }
    }
}
