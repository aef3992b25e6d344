<?php

require __DIR__ . '/../src/Clock.php';

$cases = [[0, '00:00'], [61, '01:01'], [600, '10:00']];
foreach ($cases as [$minutes, $expected]) {
    if (Clock\Clock::hands($minutes) !== $expected) {
        fwrite(STDERR, "wrong for $minutes\n");
        exit(1);
    }
}
$file = tempnam(sys_get_temp_dir(), 'clock');
unlink($file);
echo count($cases), " cases passed\n";
