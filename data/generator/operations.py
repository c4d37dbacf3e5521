"""The catalogue of small Python operations that functions, edits and trajectories are made from. Only data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """What a function does (`what`), why it works, its body with `{a}`, `{b}` for parameters, and example arguments."""

    names: tuple[str, ...]
    params: tuple[tuple[str, ...], ...]
    what: str
    body: str
    why: str
    examples: tuple[str, ...]


_NUM = ("n", "number", "value", "x")
_NUMS = ("numbers", "values", "items", "scores", "prices")
_TEXT = ("text", "word", "line", "sentence", "s")
_WORDS = ("words", "names", "lines", "labels")
_LIST = ("items", "rows", "values", "entries")
_INTS = ("[3, 1, 2]", "[4, 8, 15]", "[7, 7, 2]", "[10, 20, 30]", "[5, 9, 1, 6]", "[2, 4, 6, 8]")
_STRS = ("'river'", "'lantern'", "'Hello'", "'apple tart'", "'copper'", "'blue kite'", "'Otto'")
_LISTS = ("['pear', 'fig', 'plum']", "['oak', 'ash']", "['red', 'blue', 'green']", "['one', 'two', 'three']", "['Ada', 'Bo', 'Eva']")


def _op(names: str, params: tuple[tuple[str, ...], ...], what: str, body: str, why: str, *examples: str) -> Operation:
    return Operation(tuple(names.split()), params, what, body, why, examples)


OPERATIONS: tuple[Operation, ...] = (
    _op("double twice times_two make_double", (_NUM,), "returns twice the {a}", "return {a} * 2", "It multiplies `{a}` by two.", "4", "7", "15", "21"),
    _op("square squared to_square power_two", (_NUM,), "returns the square of `{a}`", "return {a} * {a}", "It multiplies `{a}` by itself.", "3", "5", "9", "12"),
    _op("add add_two plus sum_of_two", (("a", "x", "left"), ("b", "y", "right")), "adds `{a}` and `{b}`", "return {a} + {b}", "It uses the plus operator.", "2, 3", "10, 4", "7, 8"),
    _op("subtract minus take_away difference", (("a", "x", "left"), ("b", "y", "right")), "subtracts `{b}` from `{a}`", "return {a} - {b}", "It uses the minus operator.", "9, 4", "20, 5", "8, 8"),
    _op("is_even even check_even has_even_value", (_NUM,), "tells whether `{a}` is even", "return {a} % 2 == 0", "An even number leaves no remainder when divided by two.", "4", "7", "10"),
    _op("is_odd odd check_odd has_odd_value", (_NUM,), "tells whether `{a}` is odd", "return {a} % 2 == 1", "An odd number leaves a remainder of one.", "3", "8", "11"),
    _op("total sum_all add_up sum_values", (_NUMS,), "adds up all the {a}", "return sum({a})", "The built-in `sum` does the work.", *_INTS),
    _op("average mean mean_value average_of", (_NUMS,), "returns the average of the {a}", "return sum({a}) / len({a})", "It divides the sum by the count.", *_INTS),
    _op("largest biggest highest find_max", (_NUMS,), "returns the largest of the {a}", "return max({a})", "The built-in `max` finds it.", *_INTS),
    _op("smallest lowest least find_min", (_NUMS,), "returns the smallest of the {a}", "return min({a})", "The built-in `min` finds it.", *_INTS),
    _op("spread value_range range_of gap", (_NUMS,), "returns the difference between the largest and the smallest of the {a}", "return max({a}) - min({a})", "It subtracts the minimum from the maximum.", *_INTS),
    _op("product multiply_all times_all product_of", (_NUMS,), "multiplies all the {a}", "result = 1\nfor item in {a}:\n    result *= item\nreturn result", "It starts at one and multiplies item by item.", "[2, 3, 4]", "[5, 2]", "[1, 7, 3]"),
    _op("count_even number_of_even evens even_count", (_NUMS,), "counts the even {a}", "return sum(1 for item in {a} if item % 2 == 0)", "It adds one for every even item.", *_INTS),
    _op("only_positive positives keep_positive drop_negative", (_NUMS,), "keeps only the positive {a}", "return [item for item in {a} if item > 0]", "The comprehension keeps items above zero.", "[3, -1, 2]", "[-5, 8]", "[0, 4, -2]"),
    _op("sort_up ascending in_order sorted_values", (_NUMS,), "sorts the {a} from small to large", "return sorted({a})", "`sorted` returns a new list in rising order.", *_INTS),
    _op("sort_down descending largest_first from_high", (_NUMS,), "sorts the {a} from large to small", "return sorted({a}, reverse=True)", "`reverse=True` turns the order around.", *_INTS),
    _op("doubled double_all twice_each double_items", (_NUMS,), "doubles each of the {a}", "return [item * 2 for item in {a}]", "The comprehension multiplies every item by two.", *_INTS),
    _op("squares all_squares square_each squared_items", (_NUMS,), "squares each of the {a}", "return [item * item for item in {a}]", "Every item is multiplied by itself.", *_INTS),
    _op("first_item first head get_first", (_LIST,), "returns the first of the {a}", "return {a}[0]", "Index zero is the first place.", *_INTS, *_LISTS),
    _op("last_item last tail_item get_last", (_LIST,), "returns the last of the {a}", "return {a}[-1]", "A negative index counts from the end.", *_INTS, *_LISTS),
    _op("reverse_list backwards flip_list reversed_items", (_LIST,), "returns the {a} in reverse order", "return {a}[::-1]", "A slice with step minus one runs backwards.", *_INTS, *_LISTS),
    _op("unique distinct without_doubles remove_duplicates", (_LIST,), "removes duplicates from the {a} and keeps their order", "return list(dict.fromkeys({a}))", "A dictionary keeps each key once, in order.", "[1, 2, 1]", "[7, 7, 2]", "['a', 'b', 'a']"),
    _op("count_items size how_many length_of", (_LIST,), "counts the {a}", "return len({a})", "`len` gives the number of items.", *_INTS, *_LISTS),
    _op("is_empty empty has_nothing check_empty", (_LIST,), "tells whether there are no {a}", "return len({a}) == 0", "An empty list has length zero.", "[]", "[1]", "['x']"),
    _op("reverse_text reversed_text flip mirror", (_TEXT,), "reverses the {a}", "return {a}[::-1]", "A slice with step minus one runs backwards.", *_STRS),
    _op("shout upper loud to_upper", (_TEXT,), "returns the {a} in upper case", "return {a}.upper()", "`upper` changes every letter.", *_STRS),
    _op("whisper lower quiet to_lower", (_TEXT,), "returns the {a} in lower case", "return {a}.lower()", "`lower` changes every letter.", *_STRS),
    _op("title_case titled headline to_title", (_TEXT,), "capitalizes each word of the {a}", "return {a}.title()", "`title` makes the first letter of each word large.", "'apple tart'", "'blue kite'", "'the bell night'"),
    _op("count_words word_count number_of_words words_in", (_TEXT,), "counts the words in the {a}", "return len({a}.split())", "`split` cuts the text at spaces.", "'a blue kite'", "'one two'", "'the bell rings at night'"),
    _op("count_letters letter_count text_length letters_in", (_TEXT,), "returns the number of characters in the {a}", "return len({a})", "`len` counts the characters.", *_STRS),
    _op("count_vowels vowels vowel_count number_of_vowels", (_TEXT,), "counts the vowels in the {a}", "return sum(1 for letter in {a}.lower() if letter in 'aeiou')", "It looks at each letter in turn.", *_STRS),
    _op("is_palindrome same_backwards palindrome check_palindrome", (_TEXT,), "tells whether the {a} reads the same backwards", "return {a}.lower() == {a}.lower()[::-1]", "It compares the text with its reverse.", "'Otto'", "'level'", "'river'"),
    _op("first_letter initial leading_letter get_initial", (_TEXT,), "returns the first letter of the {a}", "return {a}[0]", "Index zero is the first letter.", *_STRS),
    _op("last_letter final_letter ending end_letter", (_TEXT,), "returns the last letter of the {a}", "return {a}[-1]", "A negative index counts from the end.", *_STRS),
    _op("remove_spaces no_spaces squeeze without_spaces", (_TEXT,), "removes all spaces from the {a}", "return {a}.replace(' ', '')", "`replace` puts nothing where a space was.", "'a blue kite'", "'one two'", "'x y z'"),
    _op("slug make_slug to_slug dashed", (_TEXT,), "turns the {a} into a slug with dashes", "return {a}.lower().replace(' ', '-')", "It lowers the letters and changes spaces to dashes.", "'Apple Tart'", "'Blue Kite'", "'The Bell Night'"),
    _op("starts_with has_prefix begins_with check_prefix", (_TEXT, ("prefix", "start", "head")), "tells whether the {a} starts with `{b}`", "return {a}.startswith({b})", "`startswith` compares the beginning.", "'lantern', 'lan'", "'river', 'x'", "'copper', 'co'"),
    _op("ends_with has_suffix finishes_with check_suffix", (_TEXT, ("suffix", "end", "tail")), "tells whether the {a} ends with `{b}`", "return {a}.endswith({b})", "`endswith` compares the end.", "'lantern', 'tern'", "'river', 'x'", "'copper', 'per'"),
    _op("contains has_part includes find_part", (_TEXT, ("part", "piece", "needle")), "tells whether `{b}` occurs in the {a}", "return {b} in {a}", "The `in` operator searches the text.", "'lantern', 'ant'", "'river', 'sea'", "'copper', 'pp'"),
    _op("repeat repeated say_again repeat_text", (_TEXT, ("times", "count", "n")), "repeats the {a} `{b}` times", "return {a} * {b}", "A string times a number repeats it.", "'ab', 3", "'ho', 2", "'tick ', 2"),
    _op("join_words joined with_commas comma_list", (_WORDS,), "joins the {a} with commas", "return ', '.join({a})", "`join` puts the separator between the parts.", *_LISTS),
    _op("longest longest_word find_longest widest", (_WORDS,), "returns the longest of the {a}", "return max({a}, key=len)", "`key=len` compares by length.", "['pear', 'fig', 'almond']", "['oak', 'maple']", "['a', 'abc', 'ab']"),
    _op("shortest shortest_word find_shortest briefest", (_WORDS,), "returns the shortest of the {a}", "return min({a}, key=len)", "`key=len` compares by length.", "['pear', 'fig', 'almond']", "['oak', 'maple']", "['abc', 'a', 'ab']"),
    _op("lengths word_lengths sizes letter_counts", (_WORDS,), "returns the length of each of the {a}", "return [len(item) for item in {a}]", "It measures one item after the other.", *_LISTS),
    _op("upper_all shout_all loud_words capitals", (_WORDS,), "puts all the {a} in upper case", "return [item.upper() for item in {a}]", "The comprehension changes each item.", *_LISTS),
    _op("count_each tally frequencies occurrences", (_LIST,), "counts how often each of the {a} occurs", "counts = {{}}\nfor item in {a}:\n    counts[item] = counts.get(item, 0) + 1\nreturn counts", "The dictionary holds one count for each item.", "['a', 'b', 'a']", "[1, 1, 2]", "['x']"),
    _op("merge combine merged join_dicts", (("first", "left", "base"), ("second", "right", "extra")), "merges the dictionaries `{a}` and `{b}`", "return {{**{a}, **{b}}}", "Keys of `{b}` win over keys of `{a}`.", "{'a': 1}, {'b': 2}", "{'x': 1}, {'x': 5}"),
    _op("clamp limit keep_between bounded", (_NUM, ("low", "minimum"), ("high", "maximum")), "keeps `{a}` between `{b}` and `{c}`", "return max({b}, min({a}, {c}))", "It cuts at both ends.", "12, 0, 10", "5, 0, 10", "-3, 0, 10"),
    _op("factorial fact compute_factorial product_to", (("n", "number"),), "returns the factorial of `{a}`", "result = 1\nfor step in range(2, {a} + 1):\n    result *= step\nreturn result", "It multiplies all numbers from two up to `{a}`.", "3", "4", "5"),
    _op("fibonacci fib nth_fibonacci fib_number", (("n", "count"),), "returns the Fibonacci number at position `{a}`", "first, second = 0, 1\nfor _ in range({a}):\n    first, second = second, first + second\nreturn first", "Each number is the sum of the two before it.", "5", "7", "10"),
    _op("to_celsius fahrenheit_to_celsius celsius in_celsius", (("degrees", "fahrenheit", "temperature"),), "converts {a} from Fahrenheit to Celsius", "return ({a} - 32) * 5 / 9", "It subtracts 32 and multiplies by five ninths.", "212", "32", "50"),
    _op("to_minutes hours_to_minutes minutes in_minutes", (("hours", "h"),), "converts {a} to minutes", "return {a} * 60", "An hour has sixty minutes.", "2", "3", "5"),
    _op("area rectangle_area area_of surface", (("width", "w"), ("height", "h")), "returns the area of a rectangle from `{a}` and `{b}`", "return {a} * {b}", "The area is width times height.", "3, 4", "5, 6", "10, 2"),
    _op("perimeter rectangle_perimeter border_length around", (("width", "w"), ("height", "h")), "returns the perimeter of a rectangle from `{a}` and `{b}`", "return 2 * ({a} + {b})", "Every side counts twice.", "3, 4", "5, 6", "10, 2"),
    _op("sign sign_of direction get_sign", (_NUM,), "returns -1, 0 or 1 for the sign of `{a}`", "if {a} > 0:\n    return 1\nif {a} < 0:\n    return -1\nreturn 0", "It tests the two sides of zero.", "5", "-8", "0"),
    _op("absolute distance_from_zero magnitude without_sign", (_NUM,), "returns the absolute value of `{a}`", "return {a} if {a} >= 0 else -{a}", "A negative number is turned around.", "5", "-8", "-1"),
    _op("count_down countdown down_from backwards_from", (("start", "n"),), "counts down from `{a}` to one", "return list(range({a}, 0, -1))", "`range` can step backwards.", "3", "5", "4"),
    _op("flatten flat merge_lists one_list", (("lists", "rows", "groups"),), "flattens the {a} into one list", "return [item for part in {a} for item in part]", "The comprehension walks through every inner list.", "[[1, 2], [3]]", "[['a'], ['b', 'c']]"),
    _op("pairs zip_up make_pairs side_by_side", (("left", "first"), ("right", "second")), "pairs up the items of `{a}` and `{b}`", "return list(zip({a}, {b}))", "`zip` walks both lists together.", "[1, 2], ['a', 'b']", "['x'], [9]"),
    _op("safe_divide divide_or_none divide quotient", (("a", "top"), ("b", "bottom")), "divides `{a}` by `{b}` and returns None when `{b}` is zero", "if {b} == 0:\n    return None\nreturn {a} / {b}", "The test comes before the division.", "8, 2", "5, 0", "9, 3"),
)
