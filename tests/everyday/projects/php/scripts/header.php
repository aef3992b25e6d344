<?php

foreach (glob('src/*.php') as $file) {
    $text = file_get_contents($file);
    if (!str_contains($text, 'strict_types')) {
        file_put_contents($file, preg_replace('/^<\?php\n/', "<?php\n\ndeclare(strict_types=1);\n", $text));
    }
}
