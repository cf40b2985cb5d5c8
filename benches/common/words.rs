//! The vocabulary of generated vaults: common English words first, then words made of syllables.

use std::collections::HashSet;

use super::rng::Rng;

/// Words of all kinds of notes, about in order of frequency.
const COMMON: &str = "the of and to a in is that for it as was with be by on not he this are or his from at which but have an had they you were their one all we can her has there been if more when will would who so no out up into do any what some could them only time may its then such like other than these new also two now over about after first most must through even me my our before well where between should because each just those people how too good very make still much own see work long here both life being down day same another know while last might us great old year off come since against go came right used take three states himself few house use during without again place around however home small found thought went say part once general high upon school every does got united left number course war until always away something fact water though less public put think almost hand enough far took head yet government system better set told nothing night end why called find going look asked later point next program city business give group toward young days let room present side given order large national face second world possible form early things open means need best case sense problem line area turn light keep name want best change power development interest members children family often country seemed within door help church service company social local against important result level study plan idea report market matter total action rate value view field history state action type data project meeting note notes page list task tasks issue review week month decide decision question answer example reason draft version release update test build code file folder link links index search query result results model design layer module function error bug fix team lead customer user users feature request response server client memory cache queue event daily weekly morning evening summary goal goals budget cost price contract travel train flight hotel garden recipe kitchen bread coffee dinner book books author chapter reading quote article paper method theory evidence experiment sample measure average growth habit health sleep exercise running doctor music film paint photo language grammar translation river mountain island weather winter summer spring autumn north south east west energy battery engine signal sensor network protocol packet socket thread process kernel driver compiler parser syntax token vector matrix graph node edge tree branch commit merge deploy backup archive storage disk record table column row schema migration policy privacy security key password account email message letter phone call office remote interview hire salary training workshop agenda minutes follow owner deadline priority status blocked done later maybe someday";

const START: &[&str] = &[
    "b", "c", "d", "f", "g", "h", "j", "l", "m", "n", "p", "r", "s", "t", "v", "w", "b", "c", "d", "l", "m", "n", "p",
    "r", "s", "t", "br", "cl", "gr", "pl", "pr", "sh", "sp", "st", "th", "tr", "",
];
const MIDDLE: &[&str] = &["a", "e", "i", "o", "u", "a", "e", "i", "o", "a", "e", "i", "ea", "ou"];
const END: &[&str] = &["", "", "", "", "", "n", "r", "s", "t", "l", "m", "nd", "ck", "st", "ng"];
const SUFFIX: &[&str] = &["", "", "", "", "", "", "", "ing", "ed", "s", "er", "tion", "ly"];

/// `size` different words, the frequent ones first.
pub(crate) fn vocabulary(size: usize, rng: &mut Rng) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut words: Vec<String> = COMMON.split(' ').map(str::to_owned).filter(|w| seen.insert(w.clone())).collect();
    words.truncate(size);
    while words.len() < size {
        let mut word = String::new();
        // Frequent words are short.
        let most = if words.len() < size / 10 { 2 } else { 3 };
        for _ in 0..rng.between(1, most) {
            word.push_str(rng.pick::<&str>(START));
            word.push_str(rng.pick::<&str>(MIDDLE));
            word.push_str(rng.pick::<&str>(END));
        }
        word.push_str(rng.pick::<&str>(SUFFIX));
        if word.len() > 2 && seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}
